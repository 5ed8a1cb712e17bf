"""Plans of one layout beside the joint one: fettle bench --solver. usage: solvers_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
BENCH = ("bench", "enhance_x2.onnx", "--shape", "picture=1x3x16x24", "--cache", "cache", "--threads", "1")


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}


def run(*arguments):
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, env=environment(), timeout=300, check=False)


class Solvers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([DEMO, cls.folder.name], check=True)
        os.chdir(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def bench(self, *arguments):
        result = run(*BENCH, *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def fails(self, code, text, *arguments):
        result = run(*BENCH, *arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_each_plan_keeps_to_its_layout(self):
        report = self.bench("--solver", "single:NHWC,single:NCHW,default", "--iters", "5")
        rows = {row["solver"]: row for row in report["solvers"]}
        self.assertEqual(list(rows), ["joint", "single:NHWC", "single:NCHW", "default"])
        self.assertEqual(report["rounds"], 5)
        self.assertEqual((rows["joint"]["ratio"], rows["joint"]["same_kernels"], rows["default"]["predicted_ms"]), (1, True, None))
        # Row-major is NCHW by another name. What has no kernel there keeps its own layout.
        self.assertGreater(rows["single:NCHW"]["layouts"].get("row", 0), 0)
        self.assertFalse(any(name.endswith("c") for name in rows["single:NHWC"]["layouts"]), rows["single:NHWC"])
        self.assertGreater(rows["single:NHWC"]["layouts"]["NHWC"], rows["single:NCHW"]["layouts"].get("NHWC", 0))
        for row in rows.values():
            self.assertLessEqual(row["ci"][0], row["ratio"])
            self.assertLessEqual(row["ratio"], row["ci"][1])
            self.assertEqual(row["steps"], row["conversions"] + sum(row["layouts"].values()))
            self.assertGreater(row["ms"], 0)
        # The joint plan may take what a plan of one layout has: by costs it is never worse.
        known = self.bench("--solver", "single:NHWC,single:NCHW", "--iters", "1")["solvers"]
        for row in known[1:]:
            self.assertGreaterEqual(row["predicted_ms"], known[0]["predicted_ms"] * 0.999, row)

    def test_joint_alone_and_a_table(self):
        self.assertEqual([row["solver"] for row in self.bench("--solver", "joint", "--iters", "1")["solvers"]], ["joint"])
        said = run(*BENCH, "--solver", "single:NHWC", "--seconds", "0.05", "--warmup", "1")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"(?m)^joint +[\d.]+ +1\.000")
        self.assertRegex(said.stdout, r"(?m)^single:NHWC +[\d.]+ +[\d.]+")

    def test_bad_words(self):
        self.fails(2, "expected joint|default|single:LAYOUT, with commas between several, got 'NHWC'", "--solver", "NHWC")
        self.fails(2, "got ''", "--solver", "joint,")
        self.fails(2, "got 'single:'", "--solver", "single:")
        self.fails(2, "--solver", "--solver", "joint", "--profile")
        self.fails(2, "--precision low is not for it", "--solver", "joint", "--precision", "low")
        self.fails(3, "layout 'NHWX': no tensor of this model can have it; there are 'NHWC'", "--solver", "single:NHWX")

    def test_an_interruption_keeps_whole_rounds(self):
        run(*BENCH, "--solver", "single:NHWC", "--iters", "1")  # what is measured now is known then
        for wait in (1, 4, 16, 64):  # until it is interrupted in the middle of its rounds
            process = subprocess.Popen([FETTLE, *BENCH, "--solver", "single:NHWC", "--seconds", "300", "--json"], env=environment(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            if out and "solvers" in json.loads(out):
                break
        self.assertEqual(process.returncode, 1, err)
        self.assertTrue(json.loads(out)["interrupted"])
        self.assertGreater(json.loads(out)["rounds"], 0)
        self.assertIn("interrupted; the results are those of", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
