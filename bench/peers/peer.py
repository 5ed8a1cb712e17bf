"""An engine in a process of its own: peer.py ENGINE MODEL THREADS, for Peer. ENGINE is one of engines.py, or the path of Fettle's
library."""

import ctypes
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from engines import ENGINES
from library import fettle_by

PR_SET_PDEATHSIG = 1
HERE = pathlib.Path(__file__).resolve().parent


def environment():
    """Of an engine's process: with FETTLE_CPU_ISA=avx2 no engine finds AVX-512, AMX or AVX-VNNI (see hide_avx512.c)."""
    if os.environ.get("FETTLE_CPU_ISA") != "avx2":
        return os.environ
    source, library = HERE / "hide_avx512.c", HERE.parents[1] / "build" / "hide_avx512.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        library.parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    return os.environ | {"LD_PRELOAD": str(library)}


class Peer:
    """An engine in a process of its own (this file as a program), stopped but in its turns: loading and compiling a network
    takes some engines longer than all their turns, and threads of ONNX Runtime spin on after a run."""

    def __init__(self, engine, path, inputs, threads, folder):
        command = [sys.executable, __file__, engine, str(path), str(threads)]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment())
        self.ask(json.dumps({"inputs": inputs, "folder": folder}))

    def ask(self, line):
        """Its answer to a line; it is stopped afterwards."""
        self.process.send_signal(signal.SIGCONT)
        limit = threading.Timer(1200, self.process.kill)
        limit.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        limit.cancel()
        if not answer.endswith("\n"):
            self.close()
            self.errors.seek(0)
            raise RuntimeError((self.errors.read().strip().splitlines() or ["it died"])[-1])
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def turn(self, seconds):
        return float(self.ask(str(seconds)))

    def close(self):
        self.process.kill()
        self.process.wait()


def main(engine, path, threads):
    """Says when it is ready, then the median of each turn that it is asked for. What engines print goes to stderr."""
    import numpy

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # what is stopped does not see that nobody is there any more
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    feeds = {name: numpy.load(file) for name, file in request["inputs"].items()}
    run = (ENGINES.get(engine) or fettle_by(engine))(path, threads, feeds, request["folder"])
    for _ in range(4):
        run()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        run()
        times, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end or not times:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        print(statistics.median(times), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
