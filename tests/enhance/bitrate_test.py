"""The mean difference of rate curves, and the command that makes them: bitrate_test.py FETTLE_ENHANCE"""

import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "enhance"
sys.path.insert(0, str(BENCH))
import bitrate  # noqa: E402

PROGRAM = sys.argv[1]
USUAL = [(100e3 * 2**i, 30 + 2.5 * i - 0.1 * i * i) for i in range(6)]


class BdRate(unittest.TestCase):
    def test_equal_curves_save_nothing(self):
        self.assertAlmostEqual(bitrate.bd_rate(USUAL, USUAL)[0], 0)

    def test_half_of_the_rate_is_half_at_any_decibels(self):
        percent, least, most = bitrate.bd_rate(USUAL, [(rate / 2, quality) for rate, quality in USUAL])
        self.assertAlmostEqual(percent, -50, 6)
        self.assertEqual((least, most), (30, USUAL[-1][1]))

    def test_the_mean_is_of_logarithms(self):
        half, twice = math.log(0.5), math.log(2)
        other = [(rate * math.exp(half + (twice - half) * i / 5), quality) for i, (rate, quality) in enumerate(USUAL)]
        # Decibels of equal steps, so that both halves count alike.
        even = [(rate, 30 + i) for i, (rate, _) in enumerate(USUAL)]
        self.assertAlmostEqual(bitrate.bd_rate(even, [(rate, 30 + i) for i, (rate, _) in enumerate(other)])[0], 0, 2)

    def test_points_that_get_no_better_are_left_out(self):
        worse = [*USUAL, (USUAL[-1][0] * 2, USUAL[-1][1] - 5)]
        self.assertAlmostEqual(bitrate.bd_rate(USUAL, worse)[0], 0)

    def test_curves_that_share_no_quality_have_none(self):
        self.assertIsNone(bitrate.bd_rate(USUAL, [(rate, quality + 40) for rate, quality in USUAL]))
        self.assertIsNone(bitrate.bd_rate(USUAL, USUAL[:1]))

    def test_curves_never_overshoot(self):
        curve = bitrate.through([0, 1, 2, 3], [0, 0, 1, 1])
        self.assertTrue(all(0 <= curve(i / 100) <= 1 for i in range(301)))


class Command(unittest.TestCase):
    def test_a_table_of_each_step(self):
        with tempfile.TemporaryDirectory() as folder:
            clip = pathlib.Path(folder) / "clip.mkv"
            bitrate.ffmpeg("-f", "lavfi", "-i", "testsrc2=size=192x160:rate=25", "-frames:v", 4, "-c:v", "ffv1", clip)
            done = subprocess.run([sys.executable, str(BENCH / "bitrate.py"), PROGRAM, str(clip), "--frames", "4", "--crf", "20", "40",
                                   "--network", "fast"], capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = done.stdout.splitlines()
        self.assertEqual(len([row for row in rows if row.startswith("| clip |")]), 11, done.stdout)
        self.assertTrue(all(row.count("|") == 7 for row in rows), done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
