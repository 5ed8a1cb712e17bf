"""The CPU answers while a device gets ready: fettle run --start. usage: start_test.py FETTLE"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FETTLE = str(pathlib.Path(sys.argv[1]).resolve())
MODEL, SHAPE = str(pathlib.Path(__file__).resolve().parents[2] / "models" / "sr_x2_20k.onnx"), "luma=1x1x48x64"
DEVICE = os.environ.get("FETTLE_DEVICE", "opencl")


def run(*words, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}
    return subprocess.run([FETTLE, "run", MODEL, "--shape", SHAPE, "--threads", "1", "--no-cache", *words],
                          env={**kept, "COLUMNS": "300", **more}, capture_output=True, text=True, timeout=300)


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cold = {"POCL_CACHE_DIR": folder.name}

    def on_device(self, *words, **more):
        done = run("--device", DEVICE, "--strict-device", *words, **self.cold, **more)
        if done.returncode == 4:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_values_are_those_of_the_device(self):
        ready, fast = (json.loads(self.on_device("--json", *words)) for words in ((), ("--start", "fast")))
        self.assertIsNone(ready["start"])
        self.assertEqual(fast["start"]["stage"], "on-cpu")
        self.assertEqual((fast["start"]["cpu_runs"], fast["start"]["reason"]), (1, None))
        for name in ("min", "max", "mean"):
            self.assertAlmostEqual(fast["outputs"][0][name], ready["outputs"][0][name], delta=1e-4)

    def test_a_line_tells_of_it(self):
        text = self.on_device("--iters", "3", FETTLE_START="fast")
        self.assertRegex(text, r"\nfast start: (the CPU computed, .* was not ready after|\d+ runs? on the CPU, then on) ")
        self.assertNotIn("fast start", self.on_device())

    def test_alone_the_cpu_has_nothing_to_wait_for(self):
        done = run("--start", "fast", "--json")
        self.assertIn("--start fast has no effect: the CPU computes alone", done.stderr)
        self.assertIsNone(json.loads(done.stdout)["start"])

    def test_the_cpu_answers_before_the_device_is_open(self):
        alone = json.loads(run("--json").stdout)
        for device in (DEVICE, "opencl:no such device"):
            done = run("--device", device, "--start", "fast", "--json", **self.cold)
            self.assertEqual(done.returncode, 0, done.stderr)
            fast = json.loads(done.stdout)
            self.assertIn(fast["start"]["stage"], ("on-cpu", "stayed"))
            self.assertEqual(fast["outputs"][0]["mean"], alone["outputs"][0]["mean"])
            self.assertNotIn("has no effect", done.stderr)
        text = run("--device", "opencl:no such device", "--start", "fast", **self.cold).stdout
        self.assertRegex(text, r"\nfast start: the CPU (computed, opencl:no such device was not|goes on, opencl:no such device cannot)")
        refused = run("--device", "opencl:no such device", "--strict-device", "--start", "fast", **self.cold)
        self.assertEqual(refused.returncode, 4)

    def test_other_words_are_refused(self):
        done = run("--start", "soon")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--start", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
