"""Tuning with a compiler that hangs or dies: compile_worker_test.py FETTLE FETTLE_DEMO OPENCL_LIBRARY"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FETTLE, DEMO, LIBRARY = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])


class CompileWorker(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run([DEMO, self.folder], check=True)
        devices = json.loads(subprocess.run([FETTLE, "devices", "--json"], check=True, capture_output=True).stdout)
        if not devices["opencl"]:
            self.skipTest(devices["opencl_reason"])

    def give(self, command, *arguments, **environment):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
        result = subprocess.run(
            [FETTLE, command, "enhance_x2.onnx", "--shape", "picture=1x3x8x12", "--device", "opencl", "--cache", "cache", "--json",
             *arguments], cwd=self.folder, capture_output=True, text=True, timeout=500,
            env={**kept, "FETTLE_OPENCL_LIBRARY": LIBRARY, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), result.stderr

    def tune(self, compiler, **environment):
        return self.give("tune", "--level", "fast", "--no-package", "--compile-seconds", "0.5", FETTLE_TEST_COMPILER=compiler,
                         **environment)

    def test_a_first_start_compiles_in_this_process_and_in_others(self):
        (self.folder / "compilers").mkdir()
        # This process alone; beside it one or two, as programs are asked for; none.
        for threads, processes in ((1, [1]), (2, [2, 3]), (2, [0])):
            shutil.rmtree(self.folder / "compilers")
            (self.folder / "compilers").mkdir()
            report, _ = self.give("bench", "--iters", "1", "--threads", str(threads), FETTLE_TEST_COMPILERS="compilers")
            compiled_by = list((self.folder / "compilers").iterdir())
            self.assertIn(len(compiled_by), processes, compiled_by)
            # The third time all of them are known.
            self.assertEqual(report["programs"]["built"] > 0, processes != [0], report["programs"])
            if threads == 1:
                shutil.rmtree(self.folder / "cache")

    def test_a_compiler_that_hangs_ends_nothing(self):
        report, said = self.tune("hangs")
        self.assertEqual(report["compiled"], 0)
        self.assertGreater(report["measured"], 0)  # on the CPU
        self.assertIn("took over 0.5 s", said + json.dumps(report["rejected"]))
        # Remembered: now the compiler would work, and is not asked.
        again, _ = self.tune("works")
        self.assertEqual(again["measured"], 0, again)

    def test_a_compiler_that_dies_ends_nothing(self):
        report, said = self.tune("dies")
        self.assertEqual(report["compiled"], 0)
        self.assertGreater(report["measured"], 0)  # on the CPU
        self.assertIn("died twice", said + json.dumps(report["rejected"]))
        again, _ = self.tune("works")
        self.assertEqual(again["measured"], 0, again)

    def test_a_compiler_that_dies_over_one_program_compiles_the_others(self):
        report, _ = self.tune("dies over depthwise")
        self.assertGreater(report["compiled"], 0)
        rejected = {one["kernel"] for one in report["rejected"] if "died twice" in one["reason"]}
        self.assertEqual(rejected, {"opencl.conv.depthwise"})
        self.assertTrue(rejected.isdisjoint(node["kernel"] for node in report["plan"]["nodes"]))
        again, said = self.tune("works")
        self.assertEqual(again["measured"], 0, again)
        self.assertTrue(rejected.isdisjoint(node["kernel"] for node in again["plan"]["nodes"]))

    def test_a_compiler_that_works_is_counted(self):
        report, _ = self.tune("works")
        self.assertGreater(report["compiled"], 0)
        self.assertTrue(report["plan"]["nodes"])

    def test_a_loader_that_writes_into_the_environment_leaves_it_to_workers_whole(self):
        report, said = self.tune("works", FETTLE_TEST_PLATFORMS="one:two")
        self.assertGreater(report["compiled"], 0)
        self.assertNotIn("in this process", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
