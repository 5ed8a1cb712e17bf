"""Runs an image network on a picture of its own size and prints what ran: classify.py [MODEL]

The same as examples/classify.c, for any model with one image input (1x3xHxW, open extents become 64).
"""

import sys

import numpy

import fettle

path = sys.argv[1] if len(sys.argv) > 1 else "enhance_x2.onnx"
with fettle.Model(path) as model:
    image = model.inputs[0]
    shape = [extent or (1 if axis == 0 else 64) for axis, extent in enumerate(image.shape)]
    pixels = numpy.random.default_rng(0).random(shape, numpy.float32)
    with fettle.Session(model, threads=2) as session:
        (name, result), *_ = session.run({image.name: pixels}).items()
        print(f"{name}: {result.dtype} of {result.shape}, largest at {result.argmax()}")
        for step in sorted(session.steps(), key=lambda step: -step.ms)[:5]:
            print(f"{step.ms:8.3f} ms  {step.op:<12} {step.kernel}")
