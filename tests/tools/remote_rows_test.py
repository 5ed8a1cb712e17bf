#!/usr/bin/env python3
"""The rows that --remote brings back from an OpenCL device: remote_rows_test.py FETTLE FETTLE_DEMO RUNNERS"""

import json
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
        self.assertNotIn("warning", err)
        opencl = [row for row in self.local("db", "list", "--limit", "0")["rows"] if row["device"].startswith("opencl|")]
        self.assertTrue(any("median_us" in row for row in opencl))
        self.assertTrue(any(row["problem"].startswith("ceiling ") and row["unit"] == "FLOP/s" for row in opencl))


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1], exit=False).result
    skipped, bad = len(outcome.skipped), len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - skipped - bad} passed, {bad} failed, {skipped} skipped")
    sys.exit(1 if bad else 0)
