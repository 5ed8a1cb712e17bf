"""What the program does at limits of files, disks and memory. usage: limits_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from small_models import graph, model, node, value  # noqa: E402

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
ENHANCE = pathlib.Path(FETTLE).with_name("fettle-enhance")
SMALL = ["--shape", "picture=1x3x8x12"]


def environment():
    return {**{key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}, "FETTLE_CACHE": os.getcwd() + "/cache"}


def loop(body_nodes, body_outputs, outputs, extent):
    """y = x after `m` iterations of the body of v."""
    body = graph([node("Identity", ["go"], ["on"]), *body_nodes], [value("i", [], "int64"), value("go", [], "bool"), value("v", [extent])],
                 [value("on", [], "bool"), *body_outputs])
    return model([node("Loop", ["m", "", "x"], [name for name, _ in outputs], body=body)],
                 [value("m", [], "int64"), value("x", [extent])], [item for _, item in outputs])


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([DEMO, cls.folder.name], check=True)
        os.chdir(cls.folder.name)
        # A result, a package, a database and a document that are larger than the limit below.
        for words in (["run", *SMALL, "-o", "picture=in.npy", "-o", "out.npy"], ["tune", *SMALL, "--level", "fast", "--budget", "2", "-o", "t.fettle"]):
            done = subprocess.run([FETTLE, words[0], "enhance_x2.onnx", *words[1:]], capture_output=True, text=True, env=environment(), check=False)
            assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def refused(self, place, words, limit=None, stdout=subprocess.PIPE, program=FETTLE):
        """The words end with exit code 1 and one line that names the place and the reason, and leave nothing."""
        before = {name: os.path.getsize(name) for name in os.listdir() if os.path.isfile(name) and name != "stdout"}
        bound = None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        done = subprocess.run([program, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment(), preexec_fn=bound,
                              timeout=300, check=False)
        # The database's own files meet the limit too, which costs no result.
        errors = sorted({line for line in done.stderr.splitlines() if "warning" not in line})
        self.assertEqual((done.returncode, len(errors)), (1, 1), (words, done))
        self.assertIn(place, errors[0])
        self.assertIn("cannot write", errors[0])
        self.assertIn("File too large" if limit is not None else "No space left on device", errors[0])
        after = {name: os.path.getsize(name) for name in os.listdir() if os.path.isfile(name) and name != "stdout"}
        self.assertEqual(after, before, words)

    def writers(self):
        """(place, words) of what writes a file."""
        yield "new.npy", ["run", "enhance_x2.onnx", *SMALL, "-o", "new.npy"]
        yield "new.raw", ["run", "enhance_x2.onnx", *SMALL, "-o", "new.raw"]
        yield "new.pb", ["run", "enhance_x2.onnx", *SMALL, "-o", "new.pb"]
        yield "new.png", ["run", "enhance_x2.onnx", "-i", "landscape.png", "-o", "new.png"]
        yield "new.fettle", ["tune", "enhance_x2.onnx", *SMALL, "--level", "none", "--no-cache", "-o", "new.fettle"]
        yield "new.onnx", ["quantise", "enhance_x2.onnx", "--data", "landscape.png", "--shape", "picture=1x3x64x96", "--for-size", "-o", "new.onnx"]
        yield "new.html", ["report", "enhance_x2.onnx", *SMALL, "--seconds", "0.1", "--no-cache", "-o", "new.html"]
        yield "new.jsonl", ["db", "export", "new.jsonl"]

    def test_files_past_the_limit_are_refused_by_name(self):
        for place, words in self.writers():
            with self.subTest(words[0], place=place):
                if words[0] != "db":  # which cannot be opened then
                    self.refused(place, words, limit=1024)

    def test_full_disks_are_named(self):
        for place, words in self.writers():
            with self.subTest(words[0], place=place):
                os.symlink("/dev/full", place)
                try:
                    self.refused(place, words)
                finally:
                    os.unlink(place)

    def test_standard_output_past_the_limit(self):
        for words in (["inspect", "enhance_x2.onnx", "--json"], ["--help"],
                      ["bench", "enhance_x2.onnx", *SMALL, "--iters", "1", "--json"]):
            with self.subTest(words[0]), open("stdout", "w", encoding="utf-8") as out:
                self.refused("standard output", words, limit=256, stdout=out)

    def test_a_database_that_cannot_grow_costs_no_results(self):
        done = subprocess.run([FETTLE, "tune", "enhance_x2.onnx", *SMALL, "--level", "fast", "--budget", "1", "--cache", "small", "--json"],
                              capture_output=True, text=True, env=environment(), check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
        self.assertIn(done.returncode, (0, 1), done)
        self.assertIn("small/tuning.db: ", done.stderr)

    @unittest.skipUnless(ENHANCE.exists(), "no FFmpeg")
    def test_enhance_names_what_it_cannot_write(self):
        self.refused("big.png", ["landscape.png", "-o", "big.png"], limit=1024, program=str(ENHANCE))
        frame = b"FRAME\n" + bytes(range(256)) * 24
        pathlib.Path("small.y4m").write_bytes(b"YUV4MPEG2 W64 H64 F25:1 Ip A1:1 C420\n" + 3 * frame)
        self.refused("segment.part", ["small.y4m", "-o", "big.mkv"], limit=1024, program=str(ENHANCE))

    def peak(self, *words):
        """(exit code, standard error, the most memory of the process in bytes)."""
        program = ("import resource, subprocess, sys\n"
                   "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
                   "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
                   "sys.stderr.buffer.write(done.stderr)")
        # AddressSanitizer keeps what is freed for a while: little of it, where memory is measured.
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1:thread_local_quarantine_size_kb=64"]))
        done = subprocess.run([sys.executable, "-c", program, FETTLE, *words], capture_output=True, text=True,
                              env={**environment(), "ASAN_OPTIONS": options}, check=True)
        code, most = map(int, done.stdout.split())
        return code, done.stderr, most

    def test_iterations_of_a_loop_take_no_memory_each(self):
        pathlib.Path("long.onnx").write_bytes(loop([node("Neg", ["v"], ["w"])], [value("w", [4])], [("y", value("y", [4]))], 4))
        _, _, few = self.peak("run", "long.onnx", "-i", "m=const:10", "--no-cache")
        code, errors, many = self.peak("run", "long.onnx", "-i", "m=const:20000", "--no-cache")
        self.assertEqual((code, errors.count("fettle: ") - errors.count("warning")), (0, 0), errors)
        self.assertLess(many - few, 8 << 20)

    def test_memory_is_bounded_before_it_is_taken(self):
        doubles = loop([node("Concat", ["v", "v"], ["w"], axis=0)], [value("w", ["n"])], [("y", value("y", ["n"]))], "n")
        pathlib.Path("doubles.onnx").write_bytes(doubles)
        words = ["run", "doubles.onnx", "-i", "m=const:60", "--shape", "x=1", "--no-cache"]
        code, errors, most = self.peak(*words, "--max-memory", "64MB")
        self.assertEqual(code, 1, errors)
        self.assertRegex(errors, r"out of memory: \d+ bytes are asked for, \d+ are in use, and the limit is 64000000")
        self.assertIn("--max-memory", errors)
        self.assertLess(most, 400 << 20)
        huge = self.peak("run", "enhance_x2.onnx", "--shape", "picture=1x3x60000x60000", "--max-memory", "1GB")
        self.assertEqual(huge[0], 1, huge)
        self.assertIn("the limit is 1000000000", huge[1])
        options = json.loads(subprocess.run([FETTLE, "devices", "--json", "--max-memory", "5MB"], capture_output=True, check=True).stdout)["options"]
        self.assertEqual(options["max_memory"], 5000000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
