"""fettle.ort: a program for ONNX Runtime with one line changed. Where onnxruntime is installed, the same calls on both."""

import json
import pickle
import tempfile
import threading
import unittest
import warnings

import numpy

import fettle
import fettle.ort as ort
import small_models

X = numpy.arange(8, dtype=numpy.float32)
Y = numpy.full(8, 2, numpy.float32)

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


class Calls:
    """What programs do; `ort` is either package."""

    def session(self):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads = 2
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return self.ort.InferenceSession(small_models.add(metadata={"names": "{0: 'cat'}"}), options,
                                         providers=["CPUExecutionProvider"])

    def test_run(self):
        session = self.session()
        for names in (None, [], ["z"]):
            (result,) = session.run(names, {"x": X, "y": Y})
            numpy.testing.assert_array_equal(result, X + Y)
        (result,) = session.run(None, {"x": X, "y": Y}, self.ort.RunOptions())
        self.assertEqual(result.dtype, numpy.float32)

    def test_arrays_with_gaps_lists_and_ort_values(self):
        session = self.session()
        wide = numpy.arange(16, dtype=numpy.float32)
        numpy.testing.assert_array_equal(session.run(None, {"x": wide[::2], "y": Y})[0], wide[::2] + Y)
        numpy.testing.assert_array_equal(session.run(None, {"x": X.tolist(), "y": Y})[0], X + Y)
        values = {"x": self.ort.OrtValue.ortvalue_from_numpy(X), "y": self.ort.OrtValue.ortvalue_from_numpy(Y)}
        numpy.testing.assert_array_equal(session.run_with_ort_values(["z"], values)[0].numpy(), X + Y)

    def test_what_a_session_says(self):
        session = self.session()
        (first, second), (output,) = session.get_inputs(), session.get_outputs()
        self.assertEqual((first.name, first.type, len(first.shape)), ("x", "tensor(float)", 1))
        self.assertEqual((second.name, output.name), ("y", "z"))
        self.assertEqual(session.get_providers(), ["CPUExecutionProvider"])
        meta = session.get_modelmeta()
        self.assertEqual(meta.custom_metadata_map, {"names": "{0: 'cat'}"})
        self.assertEqual((meta.producer_name, meta.graph_name), ("small_models", "small"))
        self.assertIn("CPUExecutionProvider", self.ort.get_available_providers())
        self.assertEqual(self.ort.get_device(), "CPU")

    def test_io_binding(self):
        session = self.session()
        binding = session.io_binding()
        given = X.copy()
        binding.bind_cpu_input("x", given)
        binding.bind_input("y", "cpu", 0, numpy.float32, Y.shape, Y.ctypes.data)
        binding.bind_output("z")
        session.run_with_iobinding(binding)
        numpy.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], X + Y)
        place = numpy.zeros(8, numpy.float32)
        binding.bind_output("z", "cpu", 0, numpy.float32, place.shape, place.ctypes.data)
        given += 1
        session.run_with_iobinding(binding)
        numpy.testing.assert_array_equal(place, X + 1 + Y)
        value = self.ort.OrtValue.ortvalue_from_shape_and_type([8], numpy.float32, "cpu", 0)
        binding.bind_ortvalue_input("x", self.ort.OrtValue.ortvalue_from_numpy(Y))
        binding.bind_ortvalue_output("z", value)
        session.run_with_iobinding(binding)
        numpy.testing.assert_array_equal(value.numpy(), Y + Y)
        self.assertEqual(binding.get_outputs()[0].shape(), [8])
        binding.clear_binding_inputs()
        binding.clear_binding_outputs()

    def test_ort_values(self):
        value = self.ort.OrtValue.ortvalue_from_numpy(X.copy())
        self.assertEqual((value.shape(), value.data_type(), value.element_type()), ([8], "tensor(float)", 1))
        self.assertEqual((value.device_name(), value.tensor_size_in_bytes()), ("cpu", 32))
        self.assertTrue(value.is_tensor() and value.has_value() and not value.is_sparse_tensor())
        value.update_inplace(Y)
        numpy.testing.assert_array_equal(value.numpy(), Y)

    def test_asynchronous_runs(self):
        results, done = [], threading.Event()

        def callback(values, user_data, error):
            results.extend([values[0].copy(), user_data, error])
            done.set()

        self.session().run_async(["z"], {"x": X, "y": Y}, callback, "mine")
        self.assertTrue(done.wait(10))
        numpy.testing.assert_array_equal(results[0], X + Y)
        self.assertEqual(results[1:], ["mine", ""])

    def test_symbols_of_shapes(self):
        session = self.session()
        self.assertEqual([info.shape for info in session.get_inputs() + session.get_outputs()], [["n"]] * 3)

    def test_extents_of_symbols(self):
        options = self.ort.SessionOptions()
        options.add_free_dimension_override_by_name("n", 8)
        session = self.ort.InferenceSession(small_models.add(), options)
        self.assertEqual([info.shape for info in session.get_inputs()], [[8], [8]])
        numpy.testing.assert_array_equal(session.run(None, {"x": X, "y": Y})[0], X + Y)
        with self.assertRaises(self.ort.capi.onnxruntime_pybind11_state.InvalidArgument):
            session.run(None, {"x": X[:5], "y": Y[:5]})

    def test_extents_of_denotations(self):
        options = self.ort.SessionOptions()
        options.add_free_dimension_override_by_denotation("DATA_BATCH", 8)
        model = small_models.model([small_models.node("Neg", ["x"], ["z"])],
                                   [small_models.value("x", ["n", "m"], denotations={0: "DATA_BATCH"})],
                                   [small_models.value("z", ["n", "m"])])
        session = self.ort.InferenceSession(model, options)
        self.assertEqual(session.get_inputs()[0].shape, [8, "m"])
        with self.assertRaises(self.ort.capi.onnxruntime_pybind11_state.InvalidArgument):
            session.run(None, {"x": X[None]})

    def test_exceptions_by_their_module(self):
        state = self.ort.capi.onnxruntime_pybind11_state
        with self.assertRaises(state.NoSuchFile):
            self.ort.InferenceSession("missing.onnx")
        with self.assertRaises(state.InvalidProtobuf):
            self.ort.InferenceSession(b"no model")
        session = self.session()
        with self.assertRaisesRegex(ValueError, "'y'.*'x'"):
            session.run(None, {"x": X})
        for names, feeds in ((None, {"x": X, "y": Y, "other": X}), (["other"], {"x": X, "y": Y}),
                             (None, {"x": X.astype(numpy.float64), "y": Y}), (None, {"x": X.reshape(2, 4), "y": Y})):
            with self.assertRaises(state.InvalidArgument):
                session.run(names, feeds)
        options = self.ort.RunOptions()
        options.terminate = True
        with self.assertRaises(state.Fail):
            session.run(None, {"x": X, "y": Y}, options)

    def test_profiles(self):
        with tempfile.TemporaryDirectory() as folder:
            options = self.ort.SessionOptions()
            options.enable_profiling, options.profile_file_prefix = True, folder + "/here"
            session = self.ort.InferenceSession(small_models.add(), options)
            self.assertGreater(session.get_profiling_start_time_ns(), 0)
            session.run(None, {"x": X, "y": Y})
            path = session.end_profiling()
            self.assertTrue(path.startswith(folder + "/here_"))
            with open(path, encoding="utf-8") as file:
                events = json.load(file)
        operators = [event["args"].get("op_name") for event in events if event["cat"] == "Node" and event["dur"] >= 0]
        self.assertIn("Add", operators)
        self.assertIn("model_run", [event["name"] for event in events])

    def test_versions_and_devices(self):
        self.assertEqual(self.ort.get_version_string(), self.ort.__version__)
        self.assertGreater(len(self.ort.get_build_info()), 10)
        (device,) = self.ort.get_ep_devices()
        self.assertEqual((device.ep_name, device.device.type), ("CPUExecutionProvider", self.ort.OrtHardwareDeviceType.CPU))
        session = self.session()  # which ONNX Runtime's infos point into
        self.assertEqual([info.name for info in session.get_input_memory_infos()], ["Cpu", "Cpu"])

    def test_what_is_wrong_raises(self):
        session = self.session()
        for feeds in ({"x": X}, {"x": X, "y": Y, "other": X}, {"x": X.astype(numpy.float64), "y": Y},
                      {"x": X.reshape(2, 4), "y": Y}):
            with self.assertRaises(Exception):
                session.run(None, feeds)
        with self.assertRaises(Exception):
            session.run(["other"], {"x": X, "y": Y})
        with self.assertRaises(Exception):
            self.ort.InferenceSession("missing.onnx")
        with self.assertRaises(AttributeError):
            self.ort.SessionOptions().intra_op_threads = 1


class Fettle(Calls, unittest.TestCase):
    ort = ort

    def test_providers_are_ignored_with_a_note(self):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            ort.InferenceSession(small_models.add(), providers=[("CUDAExecutionProvider", {"device_id": 0}),
                                                                "CPUExecutionProvider"])
        self.assertEqual(len(notes), 1)
        self.assertIn("CUDAExecutionProvider", str(notes[0].message))

    def test_feeds_that_are_wrong_name_what_is_missing_and_what_was_given(self):
        session = self.session()
        for feeds, said in (({"x": X}, "input 'y' is missing; given: 'x'; the model's inputs: 'x', 'y'"),
                            ({}, "inputs 'x', 'y' are missing; given: none"),
                            ({"x": X, "yy": Y}, "no input 'yy' .did you mean 'y'.*'y' is missing; given: 'x', 'yy'"),
                            (None, "expected {name: array}, got NoneType; the model's inputs are 'x', 'y'"),
                            (X, "expected {name: array}, got ndarray"), ([X, Y], "expected {name: array}, got list"),
                            ({"x": None, "y": Y}, "'x': expected an array, got None"), ({"x": "a", "y": Y}, "got 'a'"),
                            ({"x": [[1], [2, 3]], "y": Y}, "input 'x': "), ({"x": object(), "y": Y}, "input 'x': ")):
            with self.assertRaisesRegex(ValueError, said) as caught:
                session.run(None, feeds)
            self.assertIsInstance(caught.exception, fettle.InvalidArgument)
        with self.assertRaisesRegex(fettle.NotFound, "no output 'q'; its outputs are 'z'"):
            session.run(["q"], {"x": X, "y": Y})
        with self.assertRaisesRegex(ValueError, "providers: expected a list"):
            ort.InferenceSession(small_models.add(), providers="CPUExecutionProvider")
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))

    def test_copies(self):
        source, place = (ort.OrtValue.ortvalue_from_numpy(array.copy()) for array in (X, Y))
        ort.copy_tensors([source], [place])
        numpy.testing.assert_array_equal(place.numpy(), X)

    def test_only_the_hosts_memory(self):
        binding = self.session().io_binding()
        for call in (lambda: binding.bind_output("z", "cuda"), lambda: ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
                     lambda: binding.bind_input("x", "cuda", 0, numpy.float32, X.shape, X.ctypes.data)):
            with self.assertRaisesRegex(NotImplementedError, "'cuda'"):
                call()
        for call in (binding.bind_cpu_input, binding.bind_output):
            with self.assertRaisesRegex(fettle.InvalidArgument, "'q'"):
                call("q", X)

    def test_termination(self):
        options = ort.RunOptions()
        options.terminate = True
        with self.assertRaises(fettle.Cancelled):
            self.session().run(None, {"x": X, "y": Y}, options)
        options = ort.RunOptions()
        session = ort.InferenceSession(small_models.product(384, depth=400))
        timer = threading.Timer(0.02, lambda: setattr(options, "terminate", True))
        timer.start()
        with self.assertRaises(fettle.Cancelled):
            for _ in range(1000):
                session.run(None, {"x": numpy.ones((384, 384), numpy.float32)}, options)
        timer.join()

    def test_entries_of_fettle(self):
        options = ort.SessionOptions()
        options.add_session_config_entry("fettle.precision", "half")
        with self.assertRaises(fettle.InvalidArgument):
            ort.InferenceSession(small_models.add(), options)


@unittest.skipIf(onnxruntime is None, "onnxruntime is not installed")
class OnnxRuntime(Calls, unittest.TestCase):
    """That the calls above are ONNX Runtime's."""

    ort = onnxruntime


if __name__ == "__main__":
    unittest.main()
