"""A program for ONNX Runtime. Its first import is the one line that was changed."""

import fettle.ort as onnxruntime
import numpy

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
session = onnxruntime.InferenceSession("enhance_x2.onnx", options, providers=["CPUExecutionProvider"])
first = session.get_inputs()[0]
print(first.name, first.shape, first.type)
picture = numpy.random.default_rng(0).random((1, 3, 32, 48)).astype(numpy.float32)
(enhanced,) = session.run(["enhanced"], {first.name: picture})
print(enhanced.shape, session.get_providers())

binding = session.io_binding()
binding.bind_cpu_input(first.name, picture)
binding.bind_output("enhanced")
session.run_with_iobinding(binding)
assert numpy.array_equal(binding.copy_outputs_to_cpu()[0], enhanced)
