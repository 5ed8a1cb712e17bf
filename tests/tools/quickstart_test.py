"""scripts/quickstart from outside, with programs that are built: quickstart_test.py FOLDER_OF_PROGRAMS

What the picture carries besides luma must survive: colours, alpha, 16 bits, grey; the result has twice the sides."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import png

BIN = pathlib.Path(sys.argv[1]).resolve()
QUICKSTART = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "quickstart"
WIDTH, HEIGHT = 40, 24


def picture(pixel, bits=8):
    """A picture of `pixel(u, v)`, u and v from 0 to 1 along the sides, times the largest sample."""
    top = 2**bits - 1
    return png.Png([[tuple(round(top * value) for value in pixel(x / (WIDTH - 1), y / (HEIGHT - 1)))
                     for x in range(WIDTH)] for y in range(HEIGHT)], bits)


def halved(image):
    """The means of 2x2 pixels."""
    def mean(x, y):
        four = [image.pixels[2 * y + i][2 * x + j] for i in (0, 1) for j in (0, 1)]
        return tuple(sum(samples) / 4 for samples in zip(*four))

    return [[mean(x, y) for x in range(image.width // 2)] for y in range(image.height // 2)]


def luma(rgb):
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]


def chroma(rgb):
    return (rgb[2] - luma(rgb)) / 1.772, (rgb[0] - luma(rgb)) / 1.402


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def quickstart(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FETTLE_")}
        return subprocess.run([QUICKSTART, *arguments], capture_output=True, text=True, timeout=300,
                              env={**environment, "FETTLE_BIN": str(BIN)})

    def enhance(self, source):
        """(the enhanced picture, before and after) of `source`."""
        png.write(self.folder / "photo.png", source)
        done = self.quickstart(self.folder / "photo.png")
        self.assertEqual(done.returncode, 0, done.stderr)
        files = [self.folder / f"photo_{end}.png" for end in ("x2", "before_after")]
        for file in files:
            self.assertIn(str(file), done.stdout)
        results = [png.read(file) for file in files]
        for result in results:
            self.assertEqual((result.width, result.height), (2 * source.width, 2 * source.height))
            self.assertEqual((result.channels, result.bits), (source.channels, source.bits))
        return results

    def assert_close(self, result, source, measure):
        """The 2x2 means of the result are those of the source to one step, away from the border, which filters repeat."""
        means = halved(result)
        for y in range(2, source.height - 2):
            for x in range(2, source.width - 2):
                self.assertLessEqual(abs(measure(means[y][x]) - measure(source.pixels[y][x])), 1, (x, y))

    def test_colours_stay(self):
        source = picture(lambda u, v: (0.2 + 0.6 * u, 0.7 - 0.5 * v, 0.3 + 0.4 * u * v))
        result, _ = self.enhance(source)
        for index in (0, 1):
            self.assert_close(result, source, lambda rgb: chroma(rgb)[index])
        self.assert_close(result, source, luma)

    def test_alpha_stays(self):
        source = picture(lambda u, v: (0.5, 0.4, 0.6, u * (1 - v)))
        result, _ = self.enhance(source)
        self.assert_close(result, source, lambda rgba: rgba[3])
        self.assert_close(result, source, luma)

    def test_sixteen_bits_stay(self):
        # Half a step of 8 bits from left to right.
        source = picture(lambda u, v: (0.5 + u / 512, 0.4, 0.6), bits=16)
        result, _ = self.enhance(source)
        middle = [pixel[0] for pixel in result.pixels[HEIGHT]][8:-8]
        self.assertGreater(len(set(middle)), len(middle) // 2)
        self.assert_close(result, source, lambda rgb: chroma(rgb)[1])

    def test_grey_stays_grey(self):
        source = picture(lambda u, v: (0.1 + 0.8 * u * v,))
        result, _ = self.enhance(source)
        self.assert_close(result, source, lambda grey: grey[0])

    def test_before_and_after_are_halves(self):
        source = picture(lambda u, v: (float(u > v), 0.5, 0.25))
        result, both = self.enhance(source)
        middle = WIDTH  # of twice the width
        for row, enhanced in zip(both.pixels, result.pixels):
            self.assertEqual(row[middle + 1:], enhanced[middle + 1:])
            self.assertEqual(row[middle - 1:middle + 1], [(255, 255, 255)] * 2)
        self.assertNotEqual([row[:middle - 1] for row in both.pixels], [row[:middle - 1] for row in result.pixels])

    def test_jpeg(self):
        source = picture(lambda u, v: (0.3 + 0.4 * u, 0.5, 0.7 - 0.4 * v))
        png.write(self.folder / "photo.png", source)
        subprocess.run([BIN / "fettle-demo", "--before-after", "photo.png", "photo.png", "photo.jpg"],
                       check=True, cwd=self.folder)
        done = self.quickstart(self.folder / "photo.jpg")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = png.read(self.folder / "photo_x2.png")
        self.assertEqual((result.width, result.height, result.channels), (2 * WIDTH, 2 * HEIGHT, 3))

    def test_refusals(self):
        missing = self.quickstart(self.folder / "missing.png")
        self.assertEqual((missing.returncode, "no such file" in missing.stderr), (3, True))
        self.assertEqual(self.quickstart("a.png", "b.png").returncode, 2)
        (self.folder / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        damaged = self.quickstart(self.folder / "cut.png")
        self.assertNotEqual(damaged.returncode, 0)
        self.assertIn("cut.png", damaged.stderr)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["cut.png"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
