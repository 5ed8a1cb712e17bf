"""What the program says where something gains nothing: int8 that is slower, packages whose plans are not taken, budgets that
end. usage: gains_test.py FETTLE FETTLE_DEMO"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
MODEL, SMALL = "enhance_x2.onnx", ["--shape", "picture=1x3x8x12"]


def run(*arguments, env=None):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, env={**environment, **(env or {})}, timeout=300)


class Gains(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([DEMO, cls.folder.name], check=True)
        os.chdir(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def json(self, *arguments, **options):
        result = run(*arguments, "--json", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def quantise(self, *more):
        return self.json("quantise", MODEL, *SMALL, "--data", "landscape.png", "--min-sqnr", "5", "-o", "int8.onnx", *more)

    def test_quantise_says_which_layers_stay_for_their_speed(self):
        report = self.quantise()
        self.assertFalse(report["for_size"])
        self.assertEqual(report["after"]["bytes"], os.path.getsize("int8.onnx"))
        slow = [layer for layer in report["layers"] if layer["kept_by"] == "speed"]
        self.assertEqual(len(slow) + report["quantised_layers"], len(report["layers"]))
        self.assertEqual(any("on this device" in warning for warning in report["warnings"]), bool(slow))
        if report["quantised_layers"] == 0:
            self.assertEqual(pathlib.Path("int8.onnx").read_bytes(), pathlib.Path(MODEL).read_bytes())
            self.assertEqual(report["after"], report["before"])

    def test_quantise_for_size_keeps_all_and_says_what_that_costs(self):
        report = self.quantise("--for-size")
        self.assertTrue(all(layer["quantised"] and layer["kept_by"] is None for layer in report["layers"]))
        self.assertGreater(report["device"]["threads"], 0)
        self.assertEqual((report["within_budget"], report["layers"][0]["fp32_ms"]), (report["after"], None))
        larger = report["after"]["bytes"] > report["before"]["bytes"]
        self.assertEqual(any("is larger than the model" in warning for warning in report["warnings"]), larger)

    def test_a_package_of_other_settings_is_said_once(self):
        self.json("tune", MODEL, *SMALL, "--threads", "2", "--level", "none", "--no-cache", "-o", "tuned.fettle")
        for command in ("run", "bench", "report"):
            page = ["--seconds", "0.02", "--no-accuracy", "--no-advice"] if command == "report" else []
            for threads in ("1", "2"):
                said = run(command, "tuned.fettle", *SMALL, "--threads", threads, "--no-cache", *page)
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertEqual(said.stderr.count("tuned with 2 threads"), int(threads == "1"), said.stderr)
                document = self.json(command, "tuned.fettle", *SMALL, "--threads", threads, "--no-cache", *page)
                self.assertEqual(str(document["warnings"]).count("tuned with 2 threads"), int(threads == "1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
