#!/usr/bin/env python3
"""The rows that --remote brings back from an OpenCL device, and what it says of failures: remote_rows_test.py FETTLE FETTLE_DEMO RUNNERS"""

import json
import pathlib
import subprocess
import sys
import unittest

import remote_test


class Rows(remote_test.Remote):
    def setUp(self):
        super().setUp()
        self.install("ssh", remote_test.SSH_DOUBLE)

    def local(self, *words):
        done = subprocess.run([remote_test.FETTLE, *words, "--json"], env=self.environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    def test_rows_of_opencl_come_back(self):
        if not self.local("devices")["opencl"]:
            self.skipTest("no OpenCL device")
        document, err = self.run_json("tune", remote_test.MODEL, *remote_test.SMALL, "--level", "fast", "--device", "opencl",
                                      "--no-package", "--remote", "ssh:one")
        self.assertEqual(document["remotes"][0]["document"]["device"]["kind"], "opencl")
        # How long a plan takes beside other work is no matter of rows.
        self.assertEqual([line for line in err.splitlines() if "warning" in line and " were predicted " not in line], [])
        opencl = [row for row in self.local("db", "list", "--limit", "0")["rows"] if row["device"].startswith("opencl|")]
        self.assertTrue(any("median_us" in row for row in opencl))
        self.assertTrue(any(row["problem"].startswith("ceiling ") and row["unit"] == "FLOP/s" for row in opencl))
        self.expect_known(document["remotes"][0]["document"])

    def expect_known(self, there):
        """What was tuned there is known here: the same machine, so that all rows are this device's."""
        again = self.local("tune", remote_test.MODEL, *remote_test.SMALL, "--level", "fast", "--device", "opencl", "--no-package")
        self.assertGreater(there["measured"], 0)
        self.assertEqual(again["measured"], 0)
        self.assertGreaterEqual(again["reused"], there["measured"])

    def failure(self, *words):
        """The only line on standard error that is no warning."""
        done = subprocess.run([remote_test.FETTLE, "bench", remote_test.MODEL, *words], env=self.environment, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        lines = [line for line in done.stderr.splitlines() if "warning" not in line]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_what_fails_there_is_said_once(self):
        pathlib.Path("notes.txt").write_text("no picture\n")
        for words in (["--seed", "2", "--input", "picture=notes.txt"], ["--shape", "picture=1x3"], ["--shape", "other=1x3x8x8"]):
            self.assertTrue(self.failure(*words, "--remote", "ssh:one").startswith("fettle: ssh:one: "))

    def test_a_port_behind_the_host_names_the_form_that_has_one(self):
        for host in ("board:22", "me@board:22"):
            self.assertIn(f"ssh:HOST has no port; expected ssh://{host}", self.failure("--remote", f"ssh:{host}"))


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1], exit=False).result
    skipped, bad = len(outcome.skipped), len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - skipped - bad} passed, {bad} failed, {skipped} skipped")
    sys.exit(1 if bad else 0)
