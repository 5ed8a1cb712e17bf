"""fettle.backend and fettle.ort on models made by the onnx package, beside ONNX Runtime."""

import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import fettle
import fettle.backend as backend
import fettle.ort


def network():
    """A small convolutional classifier with seeded weights: 1x3x16x16 to 5 scores."""
    random = numpy.random.default_rng(1)
    weights = {
        "w1": random.normal(size=(8, 3, 3, 3)) / 5,
        "b1": random.normal(size=8),
        "w2": random.normal(size=(8, 5)),
        "b2": random.normal(size=5),
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["g"]),
        helper.make_node("Softmax", ["g"], ["scores"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(array.astype(numpy.float32), name) for name, array in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class BackendTest(unittest.TestCase):
    image = numpy.random.default_rng(2).normal(size=(2, 3, 16, 16)).astype(numpy.float32)

    def test_the_answer_of_onnx_runtime_by_one_changed_import(self):
        answers = []
        for ort in (onnxruntime, fettle.ort):
            session = ort.InferenceSession(network().SerializeToString(), providers=["CPUExecutionProvider"])
            name = session.get_inputs()[0].name
            answers.append(session.run(None, {name: self.image})[0])
        numpy.testing.assert_allclose(answers[1], answers[0], rtol=1e-5, atol=1e-6)

    def test_prepare_and_run(self):
        prepared = backend.prepare(network(), "CPU", threads=1)
        outputs = prepared.run([self.image])
        numpy.testing.assert_array_equal(outputs.scores, outputs[0])
        numpy.testing.assert_array_equal(prepared.run({"image": self.image})[0], outputs[0])
        numpy.testing.assert_array_equal(backend.run_model(network(), self.image)[0], outputs[0])

    def test_one_node(self):
        node = helper.make_node("Add", ["x", "y"], ["z"])
        x = numpy.arange(6, dtype=numpy.int64).reshape(2, 3)
        numpy.testing.assert_array_equal(backend.run_node(node, [x, x])[0], 2 * x)
        (z,) = backend.run_node(node, [x, x], outputs_info=[(x.dtype, x.shape)], opset_version=14)
        numpy.testing.assert_array_equal(z, 2 * x)

    def test_devices_and_what_is_unsupported(self):
        self.assertTrue(backend.supports_device("CPU"))
        self.assertFalse(backend.supports_device("CUDA:0"))
        with self.assertRaises(fettle.Unsupported):
            backend.prepare(network(), "CUDA")
        self.assertTrue(backend.is_compatible(network()))
        strange = network()
        strange.graph.node[1].op_type = "NoSuchOperator"
        self.assertFalse(backend.is_compatible(strange))

    def test_types_of_ml_dtypes(self):
        for name in ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4"):
            number = getattr(TensorProto, name)
            dtype = helper.tensor_dtype_to_np_dtype(number)
            graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g",
                                      [helper.make_tensor_value_info("x", number, [3])],
                                      [helper.make_tensor_value_info("y", number, [3])])
            given = numpy.array([1, 2, 3]).astype(dtype)
            model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
            (result,) = fettle.ort.InferenceSession(model.SerializeToString()).run(None, {"x": given})
            self.assertEqual(result.dtype, dtype)
            self.assertEqual(result.astype(numpy.float32).tolist(), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
