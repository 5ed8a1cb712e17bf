"""What is wrong is one exception of the documented class, and no crash."""

import copy
import gc
import os
import pickle
import threading
import unittest

import numpy

import fettle
import small_models

X = numpy.arange(8, dtype=numpy.float32)


class Arrays(unittest.TestCase):
    def setUp(self):
        self.session = fettle.Session(small_models.add(), threads=1)

    def refused(self, error, text, **inputs):
        with self.assertRaisesRegex(error, text) as caught:
            self.session.run(inputs)
        self.assertIsInstance(caught.exception, fettle.Error)
        self.assertEqual(self.session(x=X, y=X).sum(), 2 * X.sum())

    def test_wrong_types(self):
        self.refused(fettle.InvalidArgument, "f64", x=X.astype(numpy.float64), y=X)
        self.refused(fettle.InvalidArgument, "", x=numpy.array(["a"] * 8), y=X)
        self.refused(fettle.InvalidArgument, "objects", x=numpy.array([None] * 8), y=X)
        self.refused(fettle.InvalidArgument, "", x=X.astype(numpy.complex64), y=X)
        self.refused(fettle.InvalidArgument, "", x=X.astype(">f4"), y=X)
        self.refused(fettle.InvalidArgument, "neither", x=None, y=X)
        self.refused(fettle.InvalidArgument, "neither", x=[1.0] * 8, y=X)

    def test_wrong_shapes(self):
        self.refused(fettle.InvalidArgument, "", x=X[:5], y=X)
        self.refused(fettle.InvalidArgument, "", x=X.reshape(2, 4), y=X)
        deep = numpy.zeros((1,) * 20, numpy.float32)
        self.refused(fettle.InvalidArgument, "rank 20", x=deep, y=X)

    def test_arrays_with_gaps_or_off_their_alignment(self):
        self.refused(fettle.InvalidArgument, "ascontiguousarray", x=numpy.arange(16, dtype=numpy.float32)[::2], y=X)
        off = numpy.frombuffer(bytes(33), numpy.uint8)[1:].view(numpy.float32)
        self.refused(fettle.InvalidArgument, "aligned", x=off, y=X)

    def test_memory_past_the_limit(self):
        bounded = fettle.Session(small_models.add(), threads=1, max_memory=4096)
        self.assertEqual(bounded(x=X, y=X).sum(), 2 * X.sum())
        large = numpy.zeros(4096, numpy.float32)
        with self.assertRaisesRegex(fettle.OutOfMemory, "the limit is 4096"):
            bounded.run({"x": large, "y": large})

    def test_objects_that_refuse_to_be_exported(self):
        class Refusing:
            def __dlpack__(self, **options):
                raise BufferError("not today")

        self.refused(fettle.InvalidArgument, "Refusing.__dlpack__: not today", x=Refusing(), y=X)

    def test_missing_and_unknown_names(self):
        self.refused(fettle.InvalidArgument, "y", x=X)
        self.refused(fettle.NotFound, "no input 'other'; its inputs are 'x', 'y'", x=X, y=X, other=X)
        with self.assertRaisesRegex(fettle.NotFound, "no output 'other'"):
            self.session.run({"x": X, "y": X}, ["other"])
        for given in (X, [X, X], "xy"):
            with self.assertRaisesRegex(fettle.InvalidArgument, "expected {name: array}, got "):
                self.session.run(given)
        with self.assertRaises(fettle.NotFound):
            self.session.run({1: X})
        with self.assertRaisesRegex(fettle.NotFound, "w"):
            fettle.Session(small_models.add(), extra_outputs=["w"])

    def test_read_only_inputs_are_fine_and_outputs_are_not(self):
        array = X.copy()
        array.flags.writeable = False
        self.assertEqual(self.session(x=array, y=array).sum(), 2 * X.sum())
        with self.assertRaises(fettle.InvalidArgument):
            self.session.set_output("z", array)
        with self.assertRaises(fettle.InvalidArgument):
            self.session.set_output("z", fettle.Tensor.from_numpy(array))

    def test_outputs_of_another_shape(self):
        self.session.set_output("z", numpy.zeros(3, numpy.float32))
        with self.assertRaises(fettle.InvalidArgument):
            self.session.run({"x": X, "y": X})

    def test_arrays_that_are_let_go_during_a_run(self):
        session = fettle.Session(small_models.product(256, depth=8), threads=1)
        results = []

        def work(feeds):
            results.append(session.run(feeds)["y"])

        for _ in range(5):
            feeds = {"x": numpy.ones((256, 256), numpy.float32)}
            worker = threading.Thread(target=work, args=(feeds,))
            worker.start()
            feeds.clear()
            del feeds
            gc.collect()
            worker.join()
        for result in results:
            numpy.testing.assert_allclose(result, numpy.ones((256, 256)), rtol=1e-4)


class Models(unittest.TestCase):
    def test_what_does_not_load(self):
        with self.assertRaisesRegex(fettle.NotFound, "missing.onnx"):
            fettle.Model("missing.onnx")
        with self.assertRaisesRegex(fettle.InvalidModel, "mine"):
            fettle.Model(data=b"no model at all", name="mine")
        with self.assertRaises(fettle.Error):
            fettle.Model(data=small_models.add()[:-7])
        with self.assertRaises(fettle.Error):
            fettle.Model(data=b"")
        strings = small_models.model([small_models.node("NoSuchOperator", ["x"], ["y"])],
                                     [small_models.value("x", [1])], [small_models.value("y", [1])])
        with self.assertRaisesRegex(fettle.Unsupported, "NoSuchOperator"):
            fettle.Session(strings)
        with self.assertRaises(TypeError):
            fettle.Model()

    def test_outputs_that_cannot_be_written(self):
        for path in ("nowhere/tuned.fettle", os.curdir):
            with self.subTest(path=path), self.assertRaisesRegex(fettle.InputOutput, path):
                fettle.tune(small_models.add(), level="fast", budget=0.1, package=path)

    def test_options(self):
        for options in ({"threads": 5000}, {"precision": "half"}, {"device": "cuda"}, {"when_busy": "never"}):
            with self.assertRaises(fettle.InvalidArgument):
                fettle.Session(small_models.add(), **options)
        with self.assertRaises(fettle.DeviceUnavailable):
            fettle.Session(small_models.add(), device="opencl:no such platform", strict_device=True)
        with self.assertRaisesRegex(fettle.InvalidArgument, r"start: expected ready\|fast, got 'soon'"):
            fettle.Session(small_models.add(), start="soon")

    def test_what_is_closed(self):
        with fettle.Session(small_models.add()) as session:
            session.close()
        for call in (session.run, session.prepare, session.steps, session.cancel):
            with self.assertRaisesRegex(fettle.InvalidArgument, "closed"):
                call()
        model = fettle.Model(data=small_models.add())
        model.close()
        with self.assertRaisesRegex(fettle.InvalidArgument, "closed"):
            fettle.Session(model)
        with self.assertRaisesRegex(fettle.InvalidArgument, "closed"):
            model.inputs

    def test_handles_can_neither_be_copied_nor_pickled(self):
        session = fettle.Session(small_models.add(), threads=1)
        for handle in (session, session.model, fettle.Tensor.zeros([2])):
            for call in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaises((TypeError, fettle.Error)):
                    call(handle)
            with self.assertRaises(TypeError):
                object.__new__(type(handle))

    def test_exceptions_can_be_pickled(self):
        again = pickle.loads(pickle.dumps(fettle.InvalidArgument("text")))
        self.assertEqual((type(again), str(again), again.code), (fettle.InvalidArgument, "text", 1))


class Threads(unittest.TestCase):
    def test_a_session_used_by_several(self):
        session = fettle.Session(small_models.add(), threads=2)
        wrong = []

        def work(number):
            mine = numpy.full(8, number, numpy.float32)
            for _ in range(100):
                if not (session.run({"x": mine, "y": X})["z"] == mine + X).all():
                    wrong.append(number)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_a_session_that_is_busy(self):
        session = fettle.Session(small_models.product(16), threads=1)
        refused = []

        def progress(*now):
            for call in (session.close, session.steps):
                try:
                    call()
                except fettle.Busy:
                    refused.append(call)
            return False

        with self.assertRaises(fettle.Cancelled):
            session.tune({"x": numpy.ones((4, 16), numpy.float32)}, level="fast", progress=progress)
        self.assertEqual(refused, [session.close, session.steps])
        session.close()

    def test_runs_are_cancelled_from_another_thread(self):
        session = fettle.Session(small_models.product(128, depth=100), threads=1)
        cancelled = threading.Event()

        def work():
            try:
                while True:
                    session.run({"x": numpy.ones((128, 128), numpy.float32)})
            except fettle.Cancelled:
                cancelled.set()

        worker = threading.Thread(target=work)
        worker.start()
        while not cancelled.wait(0.001):
            session.cancel()
        worker.join()
        session.close()

    def test_a_fork(self):
        session = fettle.Session(small_models.add(), threads=2)
        session.run({"x": X, "y": X})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                try:
                    session.run({"x": X, "y": X})
                except fettle.InvalidArgument as error:
                    code = 0 if "fork" in str(error) else 2
                with fettle.Session(session.model, threads=2) as mine:
                    code += 0 if mine(x=X, y=X).sum() == 2 * X.sum() else 4
                del session
                gc.collect()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)
        self.assertEqual(session(x=X, y=X).sum(), 2 * X.sum())


if __name__ == "__main__":
    unittest.main()
