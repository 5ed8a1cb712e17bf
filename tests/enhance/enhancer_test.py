"""The enhancer in Python, over the library alone: enhancer_test.py LIBFETTLE_ENHANCE"""

import gc
import importlib
import os
import pathlib
import sys
import types

try:
    import numpy
except ImportError:
    print("skipped: no NumPy\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)

os.environ["FETTLE_ENHANCE_LIBRARY"] = sys.argv[1]
# The package without its extension, which is built for other tests.
package = types.ModuleType("fettle")
package.__path__ = [str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/fettle")]
sys.modules["fettle"] = package
errors, enhancer = importlib.import_module("fettle.errors"), importlib.import_module("fettle.enhancer")

counts = {True: 0, False: 0}


def check(name, condition, got=""):
    counts[bool(condition)] += 1
    if not condition:
        print(f"FAILED {name}: {got}")


def refused(name, words, run):
    try:
        run()
        check(name, False, "was taken")
    except errors.InvalidArgument as error:
        check(name, words in str(error), error)


luma = (numpy.arange(38 * 70).reshape(38, 70) % 97 + 60).astype(numpy.uint8)
chroma = numpy.full((19, 35), 120, numpy.uint8)
planar = enhancer.Enhancer(70, 38)
results = [planar.run((luma, chroma, chroma)) for _ in range(3)]
check("shapes", [plane.shape for plane in results[0]] == [(76, 140), (38, 70), (38, 70)], results[0])
check("light", abs(results[0][0].mean() - luma.mean()) < 3, results[0][0].mean())
check("no copies", planar.facts == {"frames": 3, "reduced": 0, "copied_in": 0, "copied_out": 0}, planar.facts)
kept = results[0][0][:1]
before = kept.copy()
del results, planar
gc.collect()
check("results outlive", (kept == before).all(), kept)

# Rows that are further apart than they are long.
wide = numpy.zeros((38, 96), numpy.uint8)
wide[:, :70] = luma
grey = enhancer.Enhancer(70, 38, "gray8")
check("strides", (grey.run(wide[:, :70]) == grey.run(luma)).all())
colour = numpy.dstack([luma, luma, luma])
check("colour", enhancer.Enhancer(70, 38, "bgr24").run(colour).shape == (76, 140, 3))
deep = enhancer.Enhancer(70, 38, steps="deepen").run((luma, chroma, chroma))
check("deepen", deep[0].dtype == numpy.uint16 and abs(deep[0].mean() / 4 - luma.mean()) < 3, deep[0].mean())
grey.reset()

refused("pixels", "unknown pixels 'yuv'", lambda: enhancer.Enhancer(8, 8, "yuv"))
refused("steps", "did you mean 'superres'?", lambda: enhancer.Enhancer(8, 8, steps="superes"))
refused("planes", "has 3 planes, and the frame 1", lambda: enhancer.Enhancer(70, 38).run(luma))
refused("shape", "expected (38, 70), got (38, 69)", lambda: grey.run(luma[:, 1:]))
refused("type", "expected an array of uint8", lambda: grey.run(luma.astype(float)))
refused("rows", "rows are not contiguous", lambda: grey.run(wide[:, ::-1][:, 26:]))
refused("reversed", "stride of -96 bytes", lambda: grey.run(wide[::-1, :70]))
print(f"{counts[True]} passed, {counts[False]} failed, 0 skipped")
sys.exit(1 if counts[False] else 0)
