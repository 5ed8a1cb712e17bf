"""Pages that fettle writes, without a browser. usage: pages_test.py FETTLE FETTLE_DEMO"""

import html.parser
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
SMALL = ["--shape", "picture=1x3x8x12"]
MODEL = "enhance_x2.onnx"
# Attributes that make a browser load something.
LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "ping"}
VOID = {"meta", "br", "input", "link", "hr", "img"}


def run(*arguments):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
    return subprocess.run([FETTLE, *arguments], capture_output=True, text=True, timeout=300,
                          env={**kept, "FETTLE_CACHE": os.getcwd() + "/cache"})


class Page(html.parser.HTMLParser):
    """Elements in balance, what a page would load, its data and its style."""

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.data, self.style = [], [], "", ""
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> is not closed" for tag in self.open if tag != "html"]

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in LOADING or (name == "href" and not value.startswith("#")) or tag in ("link", "iframe", "object", "embed"):
                self.problems.append(f"<{tag} {name}={value}> refers to something else")
        if tag not in VOID:
            self.open.append(tag)
            self.is_data = ("id", "data") in attributes

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script" and self.is_data:
            self.data += data
        if self.open and self.open[-1] == "style":
            self.style += data


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        subprocess.run([DEMO, "."], check=True)
        made = run("report", MODEL, *SMALL, "--seconds", "0.01", "--no-advice", "--json", "-o", "report.html")
        cls.missing = made.returncode == 4
        if cls.missing:
            assert "install" in made.stderr, made.stderr
        else:
            assert made.returncode == 0, made.stderr
            cls.document = json.loads(made.stdout)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def setUp(self):
        if self.missing:
            self.skipTest("built without the plotting library")

    def says(self, code, text, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.strip().split("\n")), 1, result.stderr)
        self.assertIn(text, result.stderr)

    def read(self, path):
        page = Page(pathlib.Path(path).read_text())
        self.assertEqual(page.problems, [])
        for word in ("@import", "url(", "@DATA@", "@STYLE@"):
            self.assertNotIn(word, page.style + page.data)
        return json.loads(page.data)

    def test_a_report_is_one_file_with_all_of_it(self):
        data = self.read("report.html")
        self.assertEqual(self.document["path"], "report.html")
        self.assertEqual(len(data["ops"]), self.document["operators"])
        self.assertEqual(data["latency_ms"]["median"], self.document["latency_ms"])
        self.assertTrue(all(output["ok"] for output in data["accuracy"]["outputs"]))
        self.assertIsNone(data["comparison"])
        self.assertIsNone(data["history"])
        kernels = [op for op in data["ops"] if op["op"] != "Convert"]
        self.assertTrue(any(op["from"] for op in data["ops"]))
        for op in kernels:
            self.assertTrue(op["why"]["choices"] >= 1)
            self.assertTrue(all(0 <= at < len(data["reasons"]) for at in op["why"]["rejected"]))
        self.assertIn("Redistribution and use in source and binary forms", pathlib.Path("report.html").read_text())

    def test_a_tuned_model_has_a_history_and_a_comparison(self):
        made = run("report", MODEL, *SMALL, "--seconds", "0.05", "--budget", "1", "--level", "fast", "-o", "tuned.html",
                   "--no-accuracy", "--no-advice")
        self.assertEqual(made.returncode, 0, made.stderr)
        data = self.read("tuned.html")
        self.assertEqual(data["plan"], "tuned")
        self.assertIsNone(data["accuracy"])
        self.assertNotIn(" ms", data["tuning"], "the page has one time of either plan")
        if "the default plan stays" in " ".join(data["tuning"].split()):
            self.assertIsNone(data["comparison"])
        else:
            self.assertTrue(data["comparison"]["pairs"] > 0)
        history = data["history"]
        self.assertTrue(history["rows"] > 0)
        times = [point["ms"] for point in history["points"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(history["points"][-1]["evaluations"], history["rows"])
        self.assertTrue(any(op["why"] and op["why"]["measured"] for op in data["ops"]))

    def test_a_package_is_compared_with_the_default_plan(self):
        made = run("tune", MODEL, *SMALL, "--level", "none", "-o", "kept.fettle")
        self.assertEqual(made.returncode, 0, made.stderr)
        made = run("report", "kept.fettle", *SMALL, "--seconds", "0.05", "-o", "package.html", "--no-accuracy", "--no-advice")
        self.assertEqual(made.returncode, 0, made.stderr)
        data = self.read("package.html")
        self.assertEqual(data["plan"], "package")
        self.assertTrue(data["comparison"]["pairs"] > 0)

    def test_one_latency_and_one_gain(self):
        run("tune", MODEL, *SMALL, "--level", "none", "-o", "one.fettle")
        made = run("report", "one.fettle", *SMALL, "--seconds", "0.05", "-o", "one.html", "--no-accuracy", "--no-advice", "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        document, data = json.loads(made.stdout), self.read("one.html")
        self.assertAlmostEqual(document["default_ms"] * data["comparison"]["ratio"], document["latency_ms"], 9)

    def test_names_of_models_are_text(self):
        name = "a<script>b<!--&.onnx"
        pathlib.Path(name).write_bytes(pathlib.Path(MODEL).read_bytes())
        made = run("report", name, *SMALL, "--seconds", "0.01", "--no-accuracy", "--no-advice", "-o", "odd.html")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.read("odd.html")["model"], name)

    def test_what_cannot_be_done_is_said_in_one_line(self):
        self.says(1, "nowhere", "report", MODEL, *SMALL, "--seconds", "0", "--no-accuracy", "--no-advice", "-o",
                  "nowhere/report.html")
        self.says(3, "missing.onnx", "report", "missing.onnx")
        self.says(2, "--seconds", "report", MODEL, "--seconds", "-1")
        self.says(2, "-o page.pdf: report writes HTML", "report", MODEL, "-o", "page.pdf")
        self.assertFalse(pathlib.Path("missing.html").exists())

    def test_advice_is_measured_and_good_networks_are_told_so(self):
        made = run("advise", MODEL, *SMALL, "--seconds", "0.05", "--apply", "advised.onnx", "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        advice = json.loads(made.stdout)
        for one in advice["advice"] + advice["tried"]:
            self.assertGreater(one["ms_after"], 0)
        self.assertTrue(all(one["gain"] > 0 for one in advice["advice"]))
        self.assertEqual(pathlib.Path("advised.onnx").exists(), advice["applied"]["path"] is not None)
        self.assertEqual(advice["applied"]["changes"] > 0, bool(advice["advice"]))
        if not advice["advice"]:
            self.assertIn("nothing to advise", run("advise", MODEL, *SMALL, "--budget", "0").stdout)
        self.says(3, "is the model itself", "advise", MODEL, "--apply", MODEL)
        self.says(3, "missing.onnx", "advise", "missing.onnx")

    def sweep(self, *arguments):
        return run("sweep", "conv", "--cin", "4,8", "--cout", "4", "--size", "8", *arguments)

    def test_a_sweep_goes_on_where_it_ended(self):
        made = self.sweep("-o", "sweep.csv", "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual([json.loads(made.stdout)[name] for name in ("points", "measured", "reused")], [2, 2, 0])
        self.assertEqual(len(self.read("sweep.html")["rows"]), 2)
        lines = pathlib.Path("sweep.csv").read_text().splitlines()
        self.assertEqual(len(lines), 3)
        # A line that was cut off by a kill is measured again, whole ones are not.
        pathlib.Path("sweep.csv").write_text("\n".join(lines[:2]) + "\n" + lines[2][:20])
        again = json.loads(self.sweep("-o", "sweep.csv", "--json", "--no-map").stdout)
        self.assertEqual([again[name] for name in ("measured", "reused", "map")], [1, 1, None])
        after = pathlib.Path("sweep.csv").read_text().splitlines()
        self.assertEqual((len(after), after[1]), (3, lines[1]))

    def test_a_sweep_of_other_options_is_refused(self):
        self.assertEqual(self.sweep("-o", "other.csv", "--no-map").returncode, 0)
        before = pathlib.Path("other.csv").read_bytes()
        for arguments, text in ((("--type", "int8"), "type f32"), (("--precision", "low"), "precision high")):
            self.says(3, text, "sweep", "conv", "-o", "other.csv", *arguments)
        self.assertEqual(pathlib.Path("other.csv").read_bytes(), before)
        # The device is the last column.
        lines = before.decode().splitlines()
        lines[1] = lines[1].rsplit(",", 1)[0] + ",another device"
        pathlib.Path("other.csv").write_text("\n".join(lines) + "\n")
        self.says(3, "device another device", "sweep", "conv", "-o", "other.csv")
        pathlib.Path("text.csv").write_text("a,b\n")
        self.says(3, "is not a sweep", "sweep", "conv", "-o", "text.csv")
        self.assertEqual(pathlib.Path("text.csv").read_text(), "a,b\n")
        self.says(1, "nowhere", "sweep", "conv", "-o", "nowhere/sweep.csv")
        for sizes in ("0", "8:4", "8:16:x1", "a", "8:"):
            self.says(2, "--cin", "sweep", "conv", "--cin", sizes)
        self.says(2, "over 100000 points", "sweep", "conv", "--cin", "1:1000:1", "--cout", "1:1000:1")

    def test_an_interrupted_sweep_keeps_what_is_done(self):
        words = [FETTLE, "sweep", "conv", "--cin", "64:1000:1", "--cout", "256", "-o", "long.csv", "--no-map"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if pathlib.Path("long.csv").exists() and pathlib.Path("long.csv").read_text().count("\n") > 2:
                    break
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, error)
        self.assertIn("the same command continues", error)
        lines = pathlib.Path("long.csv").read_text().splitlines()
        self.assertTrue(all(line.count(",") >= 15 for line in lines))
        words[words.index("64:1000:1")] = ",".join(str(64 + i) for i in range(len(lines) - 1))
        again = json.loads(run(*words[1:], "--json").stdout)
        self.assertEqual((again["measured"], again["reused"]), (0, len(lines) - 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
