"""Tuning on the machines of a list; each is a process here. Skipped without the program."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

from fettle import errors, fleet, fleet_tuning
from fettle.program import run_program

import small_models

# Stands for the program: --remote is a run here. Of the machines `dead` never answers, and `dying` is killed at its second model.
DOUBLE = f"""#!{sys.executable}
import json, os, pathlib, signal, subprocess, sys
words = sys.argv[1:]
if "--remote" in words:
    at = words.index("--remote")
    target = words[at + 1]
    del words[at:at + 2]
    at = words.index("--remote-hold")
    del words[at:at + 2]
    with open(os.environ["DOUBLE_LOG"], "a") as log:
        log.write(target + " " + words[1] + "\\n")
    if "dead" in target:
        sys.exit("fettle: " + target + ": no route to host")
    if "dying" in target and words[1].endswith("second.onnx") and not os.path.exists(os.environ["DOUBLE_LOG"] + ".alive"):
        os.kill(os.getpid(), signal.SIGKILL)
    done = subprocess.run([os.environ["DOUBLE_PROGRAM"], *words], capture_output=True)
    sys.stderr.buffer.write(done.stderr)
    print(json.dumps({{"remotes": [{{"target": target, "document": json.loads(done.stdout)}}]}} if done.returncode == 0 else json.loads(done.stdout)))
    sys.exit(done.returncode)
os.execv(os.environ["DOUBLE_PROGRAM"], [os.environ["DOUBLE_PROGRAM"], *words])
"""


def times(host, factor):
    return {(f"p{i}", "k", 1, "", "d", 1, "b"): factor * (i + 1) for i in range(10)} | {("alone", "k", 1, "", host, 1, "b"): 5.0}


class Lists(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hosts"
            path.write_text(text)
            return fleet_tuning.read_hosts(path)

    def test_lines_are_machines(self):
        hosts = self.read("board\n# none\n\nme@board:2222  # a comment\nssh://a@b:1\nadb:emulator-5554\n")
        self.assertEqual([host.target for host in hosts], ["ssh:board", "ssh://me@board:2222", "ssh://a@b:1", "adb:emulator-5554"])
        self.assertEqual(len({host.name for host in self.read("ssh:a/b\nssh:a_b\n")}), 2)

    def test_other_lines_are_named(self):
        for text, said in (("", "names no machine"), ("a\na\n", "line 2: 'a' is listed twice"), ("a b\n", "line 1: expected HOST"),
                           ("a:0\n", "line 1: expected HOST"), ("a:99999\n", "line 1: expected HOST"), ("http://a\n", "line 1: expected HOST")):  # fmt: skip
            with self.subTest(text=text), self.assertRaisesRegex(errors.InvalidArgument, said):
                self.read(text)
        with self.assertRaises(errors.NotFound):
            fleet_tuning.read_hosts("/nowhere/hosts")


class Outliers(unittest.TestCase):
    def test_a_slow_machine_and_a_far_row_are_found(self):
        known = {"a": times("a", 1.0), "b": times("b", 1.1), "c": times("c", 2.0), "d": times("d", 1.05)}
        known["a"]["p3", "k", 1, "", "d", 1, "b"] = 1.0  # others: 4.2 to 8
        found = fleet_tuning.find_outliers(known)
        self.assertEqual([row["host"] for row in found["hosts"]], ["c"])
        self.assertEqual(found["hosts"][0]["rows"], 10)
        far = {(row["host"], row["problem"]) for row in found["rows"]}
        self.assertIn(("a", "p3"), far)
        self.assertIn(("c", "p0"), far)
        self.assertNotIn(("b", "p0"), far)

    def test_two_machines_cannot_tell(self):
        found = fleet_tuning.find_outliers({"a": times("a", 1.0), "b": times("b", 3.0)})
        self.assertEqual(found, {"hosts": [], "rows": []})


@unittest.skipUnless(os.environ.get("FETTLE_PROGRAM"), "no program")
class Fleet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.models = [self.place / "first.onnx", self.place / "second.onnx"]
        for model, size in zip(self.models, (16, 24)):
            model.write_bytes(small_models.product(size))
        double = self.place / "double"
        double.write_text(DOUBLE)
        double.chmod(0o755)
        self.log = self.place / "log"
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ |= {"DOUBLE_PROGRAM": os.environ["FETTLE_PROGRAM"], "DOUBLE_LOG": str(self.log), "FETTLE_PROGRAM": str(double)}

    def tune(self, hosts, **more):
        return fleet_tuning.tune(hosts, self.models, self.place / "fleet", cache=self.place / "all", level="fast", threads=1, **more)

    def asked(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return sorted(f"{line.split()[0]} {pathlib.Path(line.split()[1]).stem}" for line in lines)

    def test_a_dead_machine_is_named_and_the_rest_goes_on_and_is_not_done_again(self):
        report = self.tune(["one", "dead", "dying"], keep_outliers=True)
        rows = {row["host"]: row for row in report["hosts"]}
        self.assertEqual([(row["tuned"], row["failed"], row["left"]) for row in rows.values()], [(2, 0, 0), (0, 1, 1), (1, 1, 0)])
        self.assertIn("no route to host", rows["ssh:dead"]["error"])
        self.assertIn("ended with -9", rows["ssh:dying"]["error"])
        self.assertEqual({row["host"] for row in report["failed"]}, {"ssh:dead", "ssh:dying"})
        self.assertEqual({row["host"] for row in report["merged"]}, {"ssh:one", "ssh:dying"})
        self.assertGreater(run_program("db", "info", cache=self.place / "all")["rows"], 0)
        self.assertEqual(self.asked(), ["ssh:dead first", "ssh:dying first", "ssh:dying second", "ssh:one first", "ssh:one second"])

        pathlib.Path(str(self.log) + ".alive").write_text("")
        report = self.tune(["one", "dead", "dying"], keep_outliers=True)
        self.assertEqual(self.asked(), ["ssh:dead first", "ssh:dying second"])
        self.assertEqual([(row["tuned"], row["reused"]) for row in report["hosts"]], [(0, 2), (0, 0), (1, 1)])
        self.assertEqual([row["host"] for row in report["failed"]], ["ssh:dead"])

        self.models[0].write_bytes(small_models.product(20))  # another model
        self.tune(["one"], keep_outliers=True)
        self.assertEqual(self.asked(), ["ssh:one first"])

    def test_a_model_that_is_none_stops_no_machine(self):
        self.models[0].write_bytes(b"no model")
        report = self.tune(["one"])
        self.assertEqual((report["hosts"][0]["tuned"], report["hosts"][0]["failed"], report["hosts"][0]["error"]), (1, 1, ""))
        self.assertEqual([pathlib.Path(row["model"]).stem for row in report["failed"]], ["first"])

    @unittest.skipUnless(importlib.util.find_spec("ray"), "no Ray")
    def test_on_ray(self):
        report = self.tune(["one", "dead"], ray=True)
        self.assertEqual([(row["tuned"], row["failed"]) for row in report["hosts"]], [(2, 0), (0, 1)])

    def test_the_command(self):
        hosts = self.place / "hosts.txt"
        hosts.write_text("one\ndead\n")
        words = ["tune", str(hosts), *map(str, self.models), "--folder", str(self.place / "f"), "--cache", str(self.place / "c"), "--level", "fast"]
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            self.assertEqual(fleet.main(words), 1)
        self.assertIn("ssh:dead: 0 tuned, 0 known, 1 failed, 1 left; skipped: ", out.getvalue())
        self.assertIn("ssh:one: ", said.getvalue())
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            fleet.main([*words, "--json"])
        self.assertEqual(json.loads(out.getvalue())["hosts"][0]["reused"], 2)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(fleet.main(["tune", "/nowhere", "m.onnx", "--folder", str(self.place / "f")]), 1)
        self.assertIn("/nowhere: No such file", said.getvalue())

    def test_a_damaged_state_is_told(self):
        (self.place / "fleet").mkdir()
        (self.place / "fleet" / "fleet.json").write_text("{")
        with self.assertRaisesRegex(errors.InvalidArgument, "fleet.json: not what an earlier call left"):
            self.tune(["one"])


if __name__ == "__main__":
    unittest.main()
