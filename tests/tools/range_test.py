#!/usr/bin/env python3
"""Ranges of shapes, tuned and planned from: range_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
MODEL, RANGE = "enhance_x2.onnx", "picture=1x3x8..32x8..32"
BETWEEN, OUTSIDE = "picture=1x3x11x13", "picture=1x3x40x40"


def run(*words, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}
    return subprocess.run([FETTLE, *words, "--threads", "1"], env={**kept, "COLUMNS": "300", **more}, capture_output=True,
                          text=True, timeout=300)


class Ranges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chdir(folder.name)
        cls.addClassCleanup(os.chdir, "/")
        subprocess.run([DEMO, "."], check=True)
        cls.tuned = cls.json("tune", MODEL, "--shape", RANGE, "--level", "fast", "--cache", "cache", "-o", "range.fettle")

    @classmethod
    def json(cls, *words):
        done = run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def fails(self, code, text, *words, **more):
        done = run(*words, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_sizes_share_what_was_measured_and_are_told(self):
        told = self.tuned["range"]
        self.assertEqual(told["inputs"], {"picture": "1x3x8..32x8..32"})
        extents = [size["shapes"]["picture"][2] for size in told["sizes"]]
        self.assertEqual((extents[0], extents[-1]), (8, 32))
        self.assertIn(16, extents)
        self.assertEqual(extents, sorted(set(extents)))
        self.assertEqual(told["sizes"][-1]["regime"], told["regimes"])
        self.assertEqual(self.tuned["measured"], sum(size["measured"] for size in told["sizes"]))
        self.assertEqual((told["left_out"], self.tuned["package"]), ([], "range.fettle"))
        again = run("tune", MODEL, "--shape", RANGE, "--level", "fast", "--cache", "cache", "--no-package")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("picture 1x3x16x16: default ", again.stdout)
        self.assertRegex(again.stdout, r"\d+ regimes?; sizes between take the plan of the nearest one")

    def test_a_shape_between_takes_a_plan_without_a_measurement(self):
        for words in (("range.fettle", "--no-cache"), (MODEL, "--cache", "cache")):
            bench = self.json("bench", *words, "--shape", BETWEEN, "--iters", "2")
            self.assertEqual((bench["plan"], bench["measurements"], bench["warnings"]), ("regime", 0, []), words)
            shown = self.json("plan", *words, "--shape", BETWEEN)
            self.assertEqual(shown["in_use"]["plan"], "regime", words)
            self.assertTrue(shown["regime"]["inside"])
            self.assertLessEqual(shown["regime"]["regime"], shown["regime"]["regimes"])
            said = run("bench", *words, "--shape", BETWEEN, "--iters", "2")
            self.assertEqual((said.returncode, said.stderr), (0, ""), words)
        said = run("plan", MODEL, "--package", "range.fettle", "--shape", BETWEEN, "--no-cache")
        self.assertRegex(said.stdout, r"regime \d of \d \(picture .*\), whose plan was tuned at picture 1x3x(8x8|16x16)\n")
        self.assertEqual(run("compare", "range.fettle", "--shape", BETWEEN).returncode, 0)

    def test_a_tuned_size_takes_its_own_plan(self):
        bench = self.json("bench", "range.fettle", "--shape", "picture=1x3x32x32", "--iters", "2", "--no-cache")
        self.assertEqual((bench["plan"], bench["predicted_ms"]), ("package", None))
        shown = self.json("plan", "range.fettle", "--shape", "picture=1x3x32x32", "--no-cache")
        self.assertEqual(shown["regime"]["tuned_at"], "picture 1x3x32x32")

    def test_a_shape_outside_is_planned_with_one_line(self):
        for words in (("range.fettle", "--no-cache"), (MODEL, "--cache", "cache")):
            said = run("bench", *words, "--shape", OUTSIDE, "--iters", "2", "--json")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual(json.loads(said.stdout)["plan"], "similar", words)
            self.assertEqual(said.stderr.count("\n"), 1, said.stderr)
            self.assertIn("outside of the tuned range (picture 1x3x8x8 to 1x3x32x32)", said.stderr)
        self.assertFalse(self.json("plan", "range.fettle", "--shape", OUTSIDE, "--no-cache")["regime"]["inside"])

    def test_one_shape_is_of_no_regime(self):
        self.json("tune", MODEL, "--shape", BETWEEN, "--level", "none", "--no-cache", "-o", "one.fettle")
        shown = self.json("plan", "one.fettle", "--shape", BETWEEN, "--no-cache")
        self.assertNotIn("regime", shown)
        self.assertNotIn("range", self.json("tune", MODEL, "--shape", BETWEEN, "--level", "none", "--no-cache", "--no-package"))

    def test_a_budget_is_for_all_sizes(self):
        tuned = self.json("tune", MODEL, "--shape", RANGE, "--budget", "0", "--no-cache", "--no-package")
        self.assertEqual(tuned["measured"], 0)
        self.assertGreaterEqual(len(tuned["range"]["sizes"]), 2)
        tuned = self.json("tune", MODEL, "--shape", RANGE, "--budget", "2", "--no-cache", "--no-package")
        self.assertGreaterEqual(len(tuned["range"]["sizes"]), 2)

    def test_bad_ranges_are_refused(self):
        nowhere = ("tune", MODEL, "--no-cache", "--no-package", "--shape")
        self.fails(2, "--shape: 640..32: runs backwards; the smaller size comes first: 32..640", *nowhere, "picture=1x3x640..32x8")
        self.fails(2, "got '8..'", *nowhere, "picture=1x3x8..x8")
        self.fails(2, "a range begins at 1", *nowhere, "picture=1x3x0..8x8")
        self.fails(2, "8..8: is one size; write 8 for it", *nowhere, "picture=1x3x8..8x8")
        self.fails(2, "got '8..99999999999999999999'", *nowhere, "picture=1x3x8..99999999999999999999x8")
        self.fails(2, "too many elements", *nowhere, "picture=1x3x8..9999999999x9999999999")
        self.fails(2, "input 'picture' has two shapes", *nowhere, RANGE, "--shape", "picture=1x3x8x8")
        self.fails(3, "expected 1x3x(height)x(width), got 1x", *nowhere, "picture=1x3..4x8x8")
        self.fails(3, "has no input 'pictur'", *nowhere, "pictur=1x3x8..16x8")
        for command in ("run", "bench", "plan", "inspect"):
            self.fails(2, f"--shape: {RANGE}: only tune takes a range", command, MODEL, "--shape", RANGE)
        self.fails(2, f"FETTLE_SHAPE: {RANGE}: only tune takes a range", "run", MODEL, FETTLE_SHAPE=RANGE)
        self.assertIn("sizes between take", run(*nowhere[:-1], "--level", "none", FETTLE_SHAPE=RANGE).stdout)
        self.fails(3, "--package enhance_x2.onnx: is not a package", "plan", MODEL, "--shape", BETWEEN, "--package", MODEL)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
