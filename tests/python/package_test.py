"""The package as a user has it: sessions, tensors, DLPack, tuning."""

import gc
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import unittest

import numpy

import fettle
import small_models

X = numpy.arange(8, dtype=numpy.float32)
Y = numpy.full(8, 10, numpy.float32)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.session = fettle.Session(small_models.add(), threads=1)

    def test_a_run_takes_and_gives_arrays(self):
        numpy.testing.assert_array_equal(self.session.run({"x": X, "y": Y})["z"], X + Y)
        numpy.testing.assert_array_equal(self.session(x=X, y=Y), X + Y)

    def test_results_are_the_callers(self):
        first = self.session.run({"x": X, "y": Y})["z"]
        second = self.session.run({"x": X, "y": X})["z"]
        numpy.testing.assert_array_equal(first, X + Y)
        numpy.testing.assert_array_equal(second, X + X)
        first += 1  # writable
        del self.session
        gc.collect()
        numpy.testing.assert_array_equal(first, X + Y + 1)

    def test_results_do_not_lie_in_inputs(self):
        session = fettle.Session(small_models.identity())
        given = numpy.ones((2, 3), numpy.float32)
        result = session.run({"x": given})["y"]
        given[:] = 5
        numpy.testing.assert_array_equal(result, numpy.ones((2, 3)))

    def test_inputs_that_were_set_are_read_by_each_run(self):
        given = X.copy()
        self.session.set_input("x", given)
        self.session.set_input("y", Y.copy())  # kept by the session alone
        gc.collect()
        numpy.testing.assert_array_equal(self.session.run()["z"], X + Y)
        given += 1
        numpy.testing.assert_array_equal(self.session.run()["z"], X + Y + 1)

    def test_outputs_are_written_where_they_were_bound(self):
        for place in (numpy.zeros(8, numpy.float32), fettle.Tensor.zeros([8])):
            self.session.set_output("z", place)
            self.session.run({"x": X, "y": Y})
            numpy.testing.assert_array_equal(numpy.asarray(place), X + Y)
        self.session.set_output("z", None)
        numpy.testing.assert_array_equal(self.session.run({"x": X, "y": X})["z"], X + X)

    def test_a_model_says_what_it_takes(self):
        with fettle.Model(data=small_models.add("int64"), name="sum") as model:
            self.assertEqual(model.inputs[1], fettle.ValueInfo("y", numpy.dtype("int64"), (None,)))
            self.assertEqual([value.name for value in model.outputs], ["z"])
            session = fettle.Session(model)
        self.assertTrue(model.closed)
        self.assertEqual(session(x=numpy.array([2]), y=numpy.array([3])).tolist(), [5])

    def test_extra_outputs_come_beside_the_models(self):
        session = fettle.Session(small_models.product(4, depth=2), extra_outputs=["h0"])
        result = session.run({"x": numpy.ones((1, 4), numpy.float32)})
        self.assertEqual(list(result), ["y", "h0"])
        self.assertEqual(list(session.run({"x": numpy.ones((1, 4), numpy.float32)}, ["h0"])), ["h0"])

    def test_types_go_in_and_out(self):
        for dtype in ("uint8", "int8", "int32", "int64", "bool", "float16", "float32", "float64"):
            given = numpy.array([[1, 0, 1]], dtype)
            result = fettle.Session(small_models.identity(dtype))(x=given)
            self.assertEqual(result.dtype, given.dtype)
            numpy.testing.assert_array_equal(result, given)

    def test_steps_memory_and_transfers(self):
        self.session.run({"x": X, "y": Y})
        self.assertIn("Add", [step.op for step in self.session.steps()])
        # The sum is read and written where the caller has it; a product between needs memory.
        self.assertEqual(self.session.memory().arena, 0)
        self.assertEqual(self.session.transfers().copies, 0)
        deep = fettle.Session(small_models.product(4, depth=2))
        deep.run({"x": numpy.ones((1, 4), numpy.float32)})
        self.assertGreater(deep.memory().arena, 0)

    def test_empty_and_scalar_arrays(self):
        empty = numpy.zeros(0, numpy.float32)
        self.assertEqual(self.session(x=empty, y=empty).shape, (0,))
        scalar = small_models.model([small_models.node("Neg", ["x"], ["y"])], [small_models.value("x", [])],
                                    [small_models.value("y", [])])
        self.assertEqual(fettle.Session(scalar)(x=numpy.float32(3)), -3)

    def test_a_package_of_other_settings_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "p.fettle")
            inputs = {"x": numpy.ones((1, 8), numpy.float32)}
            fettle.Session(small_models.product(8), threads=2).tune(inputs, level="none", package=package)
            code = "import fettle, numpy, sys; fettle.Session(sys.argv[1], threads=int(sys.argv[2]))(x=numpy.ones((1, 8), numpy.float32))"
            for threads in (1, 2):
                said = subprocess.run([sys.executable, "-c", code, package, str(threads)], stderr=subprocess.PIPE, text=True, check=True).stderr
                self.assertEqual("tuned with 2 threads" in said, threads == 1, said)

    def test_log_lines_reach_python(self):
        lines = []
        fettle.set_log(lambda level, line: lines.append((level, line)), "debug")
        try:
            fettle.Session(small_models.product(8))(x=numpy.ones((1, 8), numpy.float32))
        finally:
            fettle.set_log(None)
        for level, line in lines:
            self.assertIn(level, ("error", "warn", "info", "debug"))
            self.assertIsInstance(line, str)


class Tensors(unittest.TestCase):
    def test_nothing_is_copied(self):
        tensor = fettle.Tensor.from_numpy(X)
        self.assertEqual(tensor.data_ptr, X.ctypes.data)
        self.assertEqual(tensor.numpy().ctypes.data, X.ctypes.data)
        self.assertEqual((tensor.shape, tensor.dtype, tensor.nbytes, tensor.ndim), ((8,), X.dtype, 32, 1))

    def test_an_array_outlives_its_tensor(self):
        array = fettle.Tensor.zeros((2, 3), "int32").numpy()
        gc.collect()
        array[1, 2] = 7
        self.assertEqual(array.sum(), 7)

    def test_buffers_of_other_libraries(self):
        tensor = fettle.Tensor.from_numpy(memoryview(bytearray(b"abc")))
        self.assertEqual((tensor.shape, tensor.dtype.name), ((3,), "uint8"))
        self.assertEqual(memoryview(tensor).tolist(), [97, 98, 99])

    def test_bits_of_types_that_numpy_lacks(self):
        tensor = fettle.Tensor.from_numpy(numpy.array([0x3F80, 0x4000], numpy.uint16), dtype="bfloat16")
        self.assertIn(tensor.dtype.name, ("bfloat16", "uint16"))
        self.assertEqual(tensor.numpy().view(numpy.uint16).tolist(), [0x3F80, 0x4000])

    @unittest.skipUnless(hasattr(numpy, "from_dlpack"), "NumPy without DLPack")
    def test_dlpack_both_ways(self):
        tensor = fettle.Tensor.zeros([2, 3])
        tensor.numpy()[:] = 4
        array = numpy.from_dlpack(tensor)
        self.assertEqual((array.sum(), array.ctypes.data), (24, tensor.data_ptr))
        again = fettle.from_dlpack(tensor.numpy())
        self.assertEqual(again.data_ptr, tensor.data_ptr)
        del array, tensor
        gc.collect()
        self.assertEqual(again.numpy().sum(), 24)
        numpy.testing.assert_array_equal(fettle.Session(small_models.identity())(x=again), again.numpy())

    def test_capsules_are_used_once_or_freed(self):
        for version in (None, (1, 0)):
            tensor = fettle.Tensor.zeros([4])
            capsule = tensor.__dlpack__(max_version=version)
            self.assertEqual(fettle.from_dlpack(capsule).data_ptr, tensor.data_ptr)
            with self.assertRaises(fettle.InvalidArgument):
                fettle.from_dlpack(capsule)
            tensor.__dlpack__(max_version=version)  # nobody takes it

    def test_read_only_memory_stays_so(self):
        array = X.copy()
        array.flags.writeable = False
        tensor = fettle.Tensor.from_numpy(array)
        self.assertTrue(tensor.readonly)
        self.assertFalse(tensor.numpy().flags.writeable)
        with self.assertRaises(BufferError):
            tensor.__dlpack__()
        self.assertTrue(fettle.from_dlpack(tensor).readonly)


class Measuring(unittest.TestCase):
    model = small_models.product(16)
    inputs = {"x": numpy.ones((4, 16), numpy.float32)}

    def test_tuning_tells_how_it_goes_on_and_writes_a_package(self):
        told = []
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "small.fettle")
            report = fettle.tune(self.model, self.inputs, level="fast", budget=5, package=package, threads=1,
                                 progress=lambda *now: told.append(now))
            self.assertGreater(report.measured, 0)
            self.assertGreater(report.default_ms, 0)
            self.assertTrue(told and all(len(now) == 4 for now in told))
            result = fettle.Session(package, threads=1).run(self.inputs)["y"]
        numpy.testing.assert_allclose(result, numpy.ones((4, 16)), rtol=1e-5)

    def test_progress_ends_a_tuning(self):
        session = fettle.Session(self.model, threads=1)
        with self.assertRaises(fettle.Cancelled):
            session.tune(self.inputs, level="fast", progress=lambda *now: False)
        with self.assertRaisesRegex(KeyError, "mine"):
            session.tune(self.inputs, level="fast", progress=lambda *now: {}["mine"])
        numpy.testing.assert_allclose(session.run()["y"], numpy.ones((4, 16)), rtol=1e-5)

    def test_control_c_ends_a_tuning(self):
        session = fettle.Session(small_models.product(256, depth=4), threads=1)
        given = {"x": numpy.ones((256, 256), numpy.float32)}
        # Jobs in the background of a shell ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        ended = threading.Event()

        def press_when_it_tunes():
            while not ended.is_set():
                try:
                    session.steps()
                except fettle.Busy:
                    os.kill(os.getpid(), signal.SIGINT)
                    return

        presser = threading.Thread(target=press_when_it_tunes)
        presser.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                session.tune(given, level="full", budget=30)
        finally:
            ended.set()
            presser.join()
        numpy.testing.assert_allclose(session.run()["y"], given["x"], rtol=1e-4)

    def test_bench_and_compare(self):
        shares = []
        report = fettle.bench(self.model, self.inputs, seconds=0.02, threads=1, progress=shares.append)
        self.assertLessEqual(report.min_ms, report.median_ms)
        self.assertEqual(report.runs, len(shares) + 1)
        (difference,) = fettle.compare(self.model, shapes={"x": (3, 16)}, threads=1)
        self.assertEqual(difference.name, "y")
        self.assertGreater(difference.sqnr_db, 90)

    def test_other_threads_run_while_a_session_does(self):
        session = fettle.Session(small_models.product(256, depth=16), threads=1)
        seen = threading.Event()

        def work():
            while not seen.is_set():
                session.run({"x": numpy.ones((256, 256), numpy.float32)})

        worker = threading.Thread(target=work)
        worker.start()
        # Busy says that a run is under way, and this thread, which has the GIL, is told so.
        while not seen.is_set():
            try:
                session.steps()
            except fettle.Busy:
                seen.set()
        worker.join()


BROUGHT = os.path.join(os.path.dirname(fettle.__file__), "bin", "fettle")


@unittest.skipUnless(os.path.exists(BROUGHT), "the wheel was built without the program")
class Command(unittest.TestCase):
    """The command `fettle` of the environment, without another one in sight."""

    def run_alone(self, *words):
        alone = {name: value for name, value in os.environ.items() if not name.startswith("FETTLE_")}
        return subprocess.run(words, env={**alone, "PATH": "/nowhere"}, capture_output=True, text=True, timeout=60)

    def test_it_is_this_version(self):
        command = os.path.join(sysconfig.get_path("scripts"), "fettle")
        self.assertEqual(self.run_alone(command, "version").stdout.strip(), fettle.__version__)
        wrong = self.run_alone(command, "run", "missing.onnx")
        self.assertEqual((wrong.returncode, wrong.stdout), (3, ""))
        self.assertIn("missing.onnx", wrong.stderr)

    def test_functions_of_the_package_call_it(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "a.onnx")
            with open(source, "wb") as file:
                file.write(small_models.product(16))
            line = f"import fettle; print(fettle.plan({source!r}, shapes={{'x': (4, 16)}}, no_cache=True)['optimal'])"
            done = self.run_alone(sys.executable, "-c", line)
            self.assertEqual((done.stdout, done.returncode), ("True\n", 0), done.stderr)


@unittest.skipUnless(os.environ.get("FETTLE_PROGRAM"), "FETTLE_PROGRAM names no program")
class Program(unittest.TestCase):
    def test_plan_and_quantise(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
            with open(source, "wb") as file:
                file.write(small_models.product(16))
            self.assertIn("x", str(fettle.plan(source, shapes={"x": (4, 16)}, no_cache=True)))
            samples = [numpy.random.default_rng(i).normal(size=(4, 16)).astype(numpy.float32) for i in range(3)]
            fettle.quantise(source, samples, target, shapes={"x": (4, 16)}, no_cache=True)
            self.assertEqual(fettle.Session(target)(x=samples[0]).shape, (4, 16))
            with self.assertRaises(fettle.Error):
                fettle.enhance(os.path.join(folder, "no.png"), os.path.join(folder, "enhanced.png"))

    def test_what_it_refuses_is_of_the_class_of_the_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            source, broken = os.path.join(folder, "a.onnx"), os.path.join(folder, "broken.onnx")
            with open(source, "wb") as file:
                file.write(small_models.product(16))
            with open(broken, "wb") as file:
                file.write(b"no model at all")
            samples = [numpy.random.default_rng(i).normal(size=(4, 16)).astype(numpy.float32) for i in range(3)]
            given = {"shapes": {"x": (4, 16)}, "no_cache": True}
            for error, text, call in (
                    (fettle.NotFound, "no.onnx", lambda: fettle.plan(os.path.join(folder, "no.onnx"))),
                    (fettle.InvalidModel, "broken.onnx", lambda: fettle.plan(broken)),
                    (fettle.InvalidArgument, "--threads", lambda: fettle.plan(source, threads="many")),
                    (fettle.InputOutput, "nowhere/b.onnx", lambda: fettle.quantise(source, samples, "nowhere/b.onnx", **given)),
                    (fettle.InvalidArgument, "is a folder", lambda: fettle.quantise(source, samples, folder, **given)),
                    (fettle.Unsupported, "no layer", lambda: fettle.quantise(source, samples, os.path.join(folder, "b.onnx"),
                                                                              min_sqnr=300, **given))):
                with self.subTest(text=text), self.assertRaisesRegex(error, "(?s)^(?!fettle: ).*" + re.escape(text)) as caught:
                    call()
                self.assertIs(type(caught.exception), error)
            self.assertEqual(sorted(os.listdir(folder)), ["a.onnx", "broken.onnx"])


if __name__ == "__main__":
    unittest.main()
