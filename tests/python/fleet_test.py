"""A fleet's databases on shared storage; skipped where fsspec is absent."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import uuid

import fettle
from fettle import fleet

import small_models

ROW = {"problem": "p", "kernel": "k", "version": 1, "params": "", "device": "d", "protocol": 1, "build": "b", "status": "ok",
       "median_us": 2.0, "mad_us": 0.1, "low_us": 1.9, "samples": 5, "error": 0.0, "reason": "", "unix_seconds": 1700000000}  # fmt: skip


class WithoutFsspec(unittest.TestCase):
    def test_says_what_is_missing(self):
        line = "import sys; sys.modules['fsspec'] = None; from fettle import fleet; sys.exit(fleet.main(['collect', 'x']))"
        done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("pip install fsspec", done.stderr)


@unittest.skipUnless(importlib.util.find_spec("fsspec") and os.environ.get("FETTLE_PROGRAM"), "no fsspec or no program")
class Fleet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def device(self, name, rows):
        """The folder of a database with rows of these problems."""
        cache = self.place / name
        lines = [json.dumps({"fettle_tuning": 1})] + [json.dumps({**ROW, "problem": row, "device": name}) for row in rows]
        path = self.place / f"{name}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        fettle.run_program("db", "import", path, cache=cache)
        return cache

    def rows(self, cache):
        return {(row["problem"], row["device"]) for row in fettle.run_program("db", "list", cache=cache)["rows"]}

    def check_store(self, store):
        here, there = self.device("here", ["a", "b"]), self.device("there", ["c"])
        address = fleet.contribute(store, name="here", cache=here)
        self.assertTrue(address.endswith("/here.db"), address)
        fleet.contribute(store, name="there", cache=there)
        fleet.contribute(store, name="there", cache=there)  # again: in place of the first
        known = self.place / "third"
        self.assertEqual([tuple(one) for one in fleet.collect(store, cache=known)],
                         [("here", 2, 0, ""), ("there", 1, 0, "")])  # fmt: skip
        self.assertEqual(self.rows(known), {("a", "here"), ("b", "here"), ("c", "there")})

    def test_in_a_folder(self):
        store = self.place / "store" / "of" / "all"
        self.check_store(store)
        self.assertEqual(sorted(os.listdir(store)), ["here.db", "there.db"])

    def test_in_an_object_store(self):
        self.check_store(f"memory://{uuid.uuid4()}")

    def test_a_tuned_device_leaves_nothing_to_measure(self):
        model = self.place / "a.onnx"
        model.write_bytes(small_models.product(16))
        words = {"shape": "x=4x16", "level": "fast", "threads": 1, "no_package": True}
        tuned, store = self.place / "tuned", self.place / "store"
        self.assertGreater(fettle.run_program("tune", model, cache=tuned, **words)["measured"], 0)
        fleet.contribute(store, name="tuned", cache=tuned)
        new = self.place / "new"
        fleet.collect(store, cache=new)
        self.assertEqual(fettle.run_program("tune", model, cache=new, **words)["measured"], 0)

    def test_what_is_wrong_is_said(self):
        store = self.place / "store"
        with self.assertRaisesRegex(fettle.NotFound, "no such folder"):
            fleet.collect(store)
        with self.assertRaisesRegex(fettle.NotFound, "nothing has been tuned"):
            fleet.contribute(store, name="x", cache=self.place / "empty")
        here = self.device("here", ["a"])
        for name in ("", "..", "a/b", "a\nb"):
            with self.assertRaises(fettle.InvalidArgument):
                fleet.contribute(store, name=name, cache=here)
        with self.assertRaises(fettle.Unsupported):
            fleet.collect("nosuch://place")
        (self.place / "file").write_text("")
        with self.assertRaises(fettle.InputOutput):
            fleet.contribute(self.place / "file" / "store", name="here", cache=here)
        fleet.contribute(store, name="here", cache=here)
        (store / "broken.db").write_text("no database")
        broken, whole = fleet.collect(store, cache=self.place / "known")
        self.assertEqual((broken.name, broken.taken, whole.taken), ("broken", 0, 1))
        self.assertIn("tuning.db", broken.error)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(fleet.main(["collect", str(store), "--cache", str(self.place / "known")]), 1)
        self.assertRegex(said.getvalue(), "^broken: .*\nhere: 0 taken, 0 damaged\n$")


if __name__ == "__main__":
    unittest.main()
