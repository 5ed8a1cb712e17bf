"""Sessions, runs, models and arrays, right ones and wrong ones, leave no memory behind."""

import gc
import os
import re
import subprocess
import sys
import threading
import unittest

import numpy

import fettle
import small_models

X = numpy.arange(8, dtype=numpy.float32)
SESSIONS = 10000 if os.environ.get("FETTLE_FULL_TESTS") else 1000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def use_sessions(count):
    """Makes, runs and closes so many, and has what can fail fail."""
    model = fettle.Model(data=small_models.add())
    for number in range(count):
        if number % 50 == 0:
            model = fettle.Model(data=small_models.add())
        with fettle.Session(model, threads=1) as session:
            session.run({"x": X, "y": fettle.Tensor.from_numpy(X)})
            for bad in (lambda: session.run({"x": X}), lambda: session.run({"x": X, "y": X[:3]}),
                        lambda: fettle.Session(model, threads=-1), lambda: fettle.Model(data=b"no model")):
                try:
                    bad()
                except fettle.Error:
                    pass
    del model, session
    gc.collect()


def kept_objects():
    """What Python's collector still knows, which is no leak to LeakSanitizer."""
    return sum(isinstance(found, (fettle.Model, fettle.Session, fettle.Tensor)) for found in gc.get_objects())


def lost_bytes(sessions):
    """What LeakSanitizer finds at the end of a process of so many sessions; None where it is not installed."""
    try:
        library = subprocess.run(["gcc", "-print-file-name=liblsan.so"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    if not os.path.isabs(library):
        return None
    environment = os.environ | {"LD_PRELOAD": library, "PYTHONMALLOC": "malloc", "LSAN_OPTIONS": "exitcode=0"}
    ended = subprocess.run([sys.executable, __file__, "use_sessions", str(sessions)], env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(ended.stderr)
    found = re.search(r"SUMMARY: LeakSanitizer: (\d+) byte", ended.stderr)
    return int(found.group(1)) if found else 0


class Leaks(unittest.TestCase):
    def test_leak_sanitizer_finds_no_more_after_thousands_of_sessions(self):
        few = lost_bytes(100)
        if few is None:
            self.skipTest("gcc's liblsan is not installed")
        self.assertLess(lost_bytes(SESSIONS) - few, SESSIONS)  # a few are Python's own

    def test_thousands_of_sessions(self):
        use_sessions(300)
        before, threads = resident_bytes(), threading.active_count()
        use_sessions(SESSIONS)
        self.assertLess(resident_bytes() - before, SESSIONS * 200 + (2 << 20))
        self.assertEqual(threading.active_count(), threads)

    def test_runs_models_tensors_and_capsules(self):
        session = fettle.Session(small_models.identity(), threads=1)
        data = small_models.identity()

        def work():
            for _ in range(200):
                array = numpy.ones((64, 64), numpy.float32)
                result = session.run({"x": array})["y"]
                tensor = fettle.from_dlpack(fettle.Tensor.from_numpy(result))
                tensor.__dlpack__(max_version=(1, 0))
                session.set_input("x", tensor)
                session.set_output("y", fettle.Tensor.zeros((64, 64)))
                session.run()
                session.set_output("y", None)
                fettle.Model(data=data).close()

        work()
        gc.collect()
        before = resident_bytes()
        for _ in range(5):
            work()
        gc.collect()
        self.assertLess(resident_bytes() - before, 2 << 20)


if __name__ == "__main__":
    if sys.argv[1:2] == ["use_sessions"]:
        use_sessions(int(sys.argv[2]))
        sys.exit(f"{kept_objects()} objects are kept" if kept_objects() else 0)
    else:
        unittest.main()
