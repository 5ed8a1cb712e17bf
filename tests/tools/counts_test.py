#!/usr/bin/env python3
"""What commands count and predict does not contradict itself: counts_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
MODEL, SMALL = "enhance_x2.onnx", ["--shape", "picture=1x3x8x12"]


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.addCleanup(os.chdir, "/")
        subprocess.run([DEMO, "."], check=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}

    def say(self, *words):
        done = subprocess.run([FETTLE, *words, "--cache", "cache"], env=self.environment, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compare(self, *words):
        return subprocess.run([FETTLE, "compare", MODEL, *SMALL, *map(str, words)], capture_output=True, text=True)

    def test_compare_with_another_model_names_what_differs(self):
        other = pathlib.Path(__file__).resolve().parents[2] / "models/digits_fp32.onnx"
        result = self.compare("--against", other)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertRegex(result.stderr, "^fettle: --against .*digits_fp32.onnx: it has no input 'picture'; it has: .*\n$")
        result = self.compare("--outputs-only", "--against", MODEL)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_budget_of_nothing_measures_nothing(self):
        tuned = json.loads(self.say("tune", MODEL, *SMALL, "--no-package", "--budget", "0", "--json"))
        self.assertEqual((tuned["measured"], tuned["gate"]["pairs"], tuned["gate"]["accepted"]), (0, 0, False))
        self.assertEqual(tuned["end"], "a budget of 0 measures nothing")
        said = " ".join(self.say("tune", MODEL, *SMALL, "--no-package", "--budget", "0").split())
        self.assertRegex(said, rf"a budget of 0 measures nothing: {tuned['left']} choices? still rests? on estimates")

    def test_a_kernel_says_what_it_is_given_instead(self):
        said = self.say("plan", MODEL, *SMALL, "--explain", "--json")
        self.assertIn("computes Conv only; this is a Resize", said)

    def test_what_is_left_is_part_of_what_there_is(self):
        for words in (["--level", "none"], ["--budget", "0.3"], ["--level", "fast"]):
            tuned = json.loads(self.say("tune", MODEL, *SMALL, "--no-package", "--json", *words))
            # Choices of one plan: not entries less measurements, of which an entry takes many.
            self.assertLessEqual(tuned["left"], len(tuned["plan"]["nodes"]), words)
            self.assertTrue(tuned["left"] == 0 or not tuned["complete"], words)

    def test_nothing_is_predicted_of_steps_without_times(self):
        for _ in range(2):
            said = self.say("bench", MODEL, "--seconds", "0.05")
            self.assertNotIn("inf", said)
            self.assertNotIn("predicted: 0.000", said)

    def test_low_precision_is_normal_where_a_device_has_no_other(self):
        devices = json.loads(self.say("devices", "--json"))["opencl"]
        if not devices:
            self.skipTest("no OpenCL device")
        product = json.loads(self.say("gemm", "--device", "opencl", "--precision", "low", "-m", "32", "-n", "32", "-k", "32",
                                      "--iters", "2", "--evals", "0", "--json"))
        self.assertEqual(product["precision"]["wanted"], "low")
        if product["precision"]["device"] == "normal":
            self.assertEqual(product["precision"]["used"], "normal")
            self.assertEqual(product["precision"]["reason"], "device has no cl_khr_fp16")
        self.assertTrue(all(row["share_of_peak"] is None or row["share_of_peak"] <= 1 for row in product["rows"]
                            if "ms" in row))

    def test_launches_with_a_cap_are_counted(self):
        if not json.loads(self.say("devices", "--json"))["opencl"]:
            self.skipTest("no OpenCL device")
        words = ("bench", MODEL, *SMALL, "--device", "opencl", "--iters", "3")
        self.assertIsNone(json.loads(self.say(*words, "--json"))["launches"])
        for cap in (0.001, 1e6):
            launches = json.loads(self.say(*words, "--kernel-ms", str(cap), "--json"))["launches"]
            self.assertEqual(launches["cap_ms"], cap)
            self.assertGreaterEqual(launches["count"], 3)
            self.assertLessEqual(launches["over"], launches["count"])
            self.assertEqual(launches["over"] > 0, launches["longest_ms"] > cap)
        self.assertRegex(self.say(*words, "--kernel-ms", "1000000"), r"\nlaunches: 0 of \d+ longer than 1000000 ms, the longest ")

    def test_what_was_not_measured_is_not_called_good(self):
        said = self.say("advise", MODEL, *SMALL, "--budget", "0")
        self.assertIn("nothing to advise", said)
        self.assertNotIn("good as it is", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
