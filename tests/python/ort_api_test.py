"""All that the package onnxruntime has, against fettle.ort, by introspection: it is there, or says that it is not."""

import enum
import inspect
import unittest
import warnings

import numpy

import fettle
import fettle.ort as ort
import small_models

try:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as theirs
except ImportError:
    onnxruntime = theirs = None

X = numpy.arange(8, dtype=numpy.float32)
# Another value than the default for each kind of option.
OTHER = {bool: lambda value: not value, int: lambda value: value + 3, str: lambda value: value + "x"}


def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def fields(options):
    return [name for name in public(options) if not callable(getattr(options, name))]


def other(value):
    if isinstance(value, enum.Enum):
        return next(member for member in type(value) if member != value)
    return OTHER[type(value)](value)


class Ours(unittest.TestCase):
    """What is said of that which changes nothing."""

    def heard(self, options, run_options=None):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            session = ort.InferenceSession(small_models.add(), options)
            session.run(None, {"x": X, "y": X}, run_options)
            session.end_profiling()
        return " ".join(str(note.message) for note in notes if issubclass(note.category, ort.Ignored))

    def test_no_option_of_a_session_is_ignored_silently(self):
        works = {"enable_profiling", "intra_op_num_threads", "profile_file_prefix", "use_deterministic_compute"}
        for name in fields(ort.SessionOptions()):
            options = ort.SessionOptions()
            try:
                setattr(options, name, 0 if name == "log_severity_level" else other(getattr(options, name)))
            except fettle.Unsupported as error:
                self.assertEqual(name, "optimized_model_filepath")
                self.assertIn("tune(package=...)", str(error))
                continue
            if name == "enable_profiling":
                options.profile_file_prefix = "/dev/shm/fettle_ort_test"
            self.assertEqual(name in self.heard(options), name not in works, name)

    def test_no_option_of_a_run_is_ignored_silently(self):
        works = {"only_execute_path_to_fetches", "terminate", "log_severity_level"}
        for name in set(fields(ort.RunOptions())) - works:
            options = ort.RunOptions()
            setattr(options, name, other(getattr(options, name)))
            self.assertIn(name, self.heard(None, options))
        options = ort.RunOptions()
        options.add_run_config_entry("memory.shrink", "1")
        self.assertIn("memory.shrink", self.heard(None, options))

    def test_options_of_a_wrong_type(self):
        for name, value in (("intra_op_num_threads", "2"), ("graph_optimization_level", 3), ("logid", 5)):
            with self.assertRaisesRegex(TypeError, name):
                setattr(ort.SessionOptions(), name, value)

    def test_what_is_absent_says_what_there_is(self):
        for name in ort.absent.NAMES:
            with self.assertRaisesRegex(NotImplementedError, f"fettle.ort has no {name}: .") as caught:
                getattr(ort, name)()
            self.assertIsInstance(caught.exception, fettle.Unsupported)
        with self.assertRaisesRegex(fettle.Unsupported, "compile_to_file"):
            ort.ModelCompiler.compile_to_file("a.onnx")
        with self.assertRaisesRegex(AttributeError, "fettle.ort has no 'quantization'"):
            ort.quantization  # noqa: B018

    def test_functions_that_change_nothing_say_so(self):
        for call in (lambda: ort.set_seed(3), lambda: ort.set_global_thread_pool_sizes(2, 2),
                     ort.enable_telemetry_events, lambda: ort.set_default_logger_verbosity(2),
                     lambda: ort.SessionOptions().register_custom_ops_library("ops.so")):
            with self.assertWarns(ort.Ignored):
                call()


@unittest.skipIf(onnxruntime is None, "onnxruntime is not installed")
class Theirs(unittest.TestCase):
    def test_every_public_name_is_there(self):
        names = [name for name in public(onnxruntime) if not inspect.ismodule(getattr(onnxruntime, name))]
        self.assertGreater(len(names), 50)
        self.assertEqual([name for name in names if not hasattr(ort, name)], [])

    def test_every_member_of_every_class_is_there(self):
        count = 0
        for name, cls in inspect.getmembers(onnxruntime, inspect.isclass):
            members, mine = public(cls), getattr(ort, name)
            count += len(members)
            place = next(iter(mine)) if name in ort.enums.NAMES else mine
            self.assertEqual([member for member in members if not hasattr(place, member)], [], name)
        self.assertGreater(count, 200)

    def test_enumerations_have_the_same_numbers(self):
        for name in ort.enums.NAMES:
            cls = getattr(onnxruntime, name)
            members = getattr(cls, "__members__", None)
            self.assertEqual({key: int(value) for key, value in members.items()},
                             {key: int(value) for key, value in getattr(ort, name).__members__.items()}, name)

    def test_arguments_have_the_same_names(self):
        for name in ("InferenceSession", "IOBinding", "OrtValue"):
            for member, function in inspect.getmembers(getattr(onnxruntime, name), inspect.isfunction):
                if member.startswith("_"):
                    continue
                given = inspect.signature(function).parameters
                taken = inspect.signature(getattr(getattr(ort, name), member)).parameters
                self.assertEqual(list(taken)[: len(given)], list(given), f"{name}.{member}")

    def test_options_have_the_same_fields_and_defaults(self):
        for name in ("SessionOptions", "RunOptions"):
            mine, given = getattr(ort, name)(), getattr(onnxruntime, name)()
            for field in fields(given):
                value = getattr(given, field)
                value = int(value) if hasattr(value, "__members__") else value
                self.assertEqual(getattr(mine, field), value, field)

    def test_exceptions_have_the_same_names_and_are_fettles(self):
        names = {name for name, cls in inspect.getmembers(theirs, inspect.isclass) if issubclass(cls, Exception)}
        self.assertEqual(set(ort.exceptions.NAMES), names)
        for name in names:
            self.assertTrue(issubclass(getattr(ort.capi.onnxruntime_pybind11_state, name), fettle.Error))


if __name__ == "__main__":
    unittest.main()
