"""Decoders with a cache as inputs and outputs, by Fettle and by ONNX Runtime: a step takes what is new and keeps the cache it gave."""

import ctypes
import time

import numpy
import onnx
import onnxruntime
from library import DTYPES, Library

NAMES = {value: key for key, value in DTYPES.items()}
PAST = "past_key_values."


class Fettle:
    """Its caches go from run to run as they are. `spent`: seconds of each run alone, without what Python does around it."""

    def __init__(self, path, past, threads, library):
        self.calls, self.spent = Library(library), []
        for name, result in {"data": ctypes.c_void_p, "dims": ctypes.POINTER(ctypes.c_int64)}.items():
            getattr(self.calls.calls, f"fettle_tensor_{name}").restype = result
        self.session = self.calls.session(self.calls.load(path), threads, {})
        self.caches = [name.removeprefix(PAST) for name in past]
        self.feed(past)

    def set(self, name, tensor):
        self.calls.call("fettle_session_set_input", self.session, name.encode(), tensor)
        self.calls.call("fettle_tensor_free", tensor)

    def feed(self, arrays):
        for name, value in arrays.items():
            value = numpy.ascontiguousarray(value)
            tensor, dims = ctypes.c_void_p(), (ctypes.c_int64 * value.ndim)(*value.shape)
            self.calls.call("fettle_tensor_create", DTYPES[value.dtype.name], value.ndim, dims, ctypes.byref(tensor))
            if value.nbytes:
                ctypes.memmove(self.calls.calls.fettle_tensor_data(tensor), value.ctypes.data, value.nbytes)
            self.set(name, tensor)

    def output(self, name):
        tensor = ctypes.c_void_p()
        self.calls.call("fettle_session_output", self.session, name.encode(), ctypes.byref(tensor))
        return tensor

    def step(self, arrays):
        self.feed(arrays)
        begin = time.perf_counter()
        self.calls.call("fettle_session_run", self.session)
        self.spent.append(time.perf_counter() - begin)
        for name in self.caches:
            self.set(PAST + name, self.output(f"present.{name}"))
        logits, calls = self.output("logits"), self.calls.calls
        shape = calls.fettle_tensor_dims(logits)[:3]
        kind = numpy.dtype(NAMES[calls.fettle_tensor_dtype(logits)])
        data = ctypes.string_at(calls.fettle_tensor_data(logits), int(numpy.prod(shape)) * kind.itemsize)
        self.calls.call("fettle_tensor_free", logits)
        return numpy.frombuffer(data, kind).reshape(shape).astype(numpy.float32)


class OnnxRuntime:
    def __init__(self, path, past, threads, _):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        options.enable_mem_reuse = options.enable_mem_pattern = False  # models whose outputs are less than they say
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # otherwise it rounds rows to bytes
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names, self.spent = [value.name for value in self.session.get_outputs()], []
        self.past = self.values(past)

    def values(self, arrays):
        return {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in arrays.items()}

    def step(self, arrays):
        given = {**self.values(arrays), **self.past}
        begin = time.perf_counter()
        results = self.session.run_with_ort_values(self.names, given)
        self.spent.append(time.perf_counter() - begin)
        results = dict(zip(self.names, results))
        self.past = {name.replace("present.", PAST): value for name, value in results.items() if name.startswith("present.")}
        return results["logits"].numpy().astype(numpy.float32)


def windows(path):
    """Cache -> rows, where they are fewer than a sequence may have."""
    rows = {}
    for node in onnx.load(str(path), load_external_data=False).graph.node:
        values = {given.name: onnx.helper.get_attribute_value(given) for given in node.attribute}
        if values.get("sliding_window_cache"):
            rows |= dict.fromkeys(node.input[3:5], values["local_window_size"] + len(node.output[0]) % 4)
    return rows


def rounds_rows(path):
    """Products may round rows to bytes, each engine in blocks of its own."""
    nodes = onnx.load(str(path), load_external_data=False).graph.node
    return any(given.name == "accuracy_level" and given.i == 4 for node in nodes for given in node.attribute)


def difference(ours, theirs, most_off):
    """What is wrong (empty: nothing), and the greatest difference as a share of the range; lists of [rows, logits]."""
    most = 0.0
    for step, (own, other) in enumerate(zip(ours, theirs)):
        reach = numpy.ptp(other, -1)
        off = float((numpy.abs(own - other).max(-1) / reach).max(initial=0))
        if not off <= most_off:
            return f"step {step}: {off:.4%} of the range off", off
        most = max(most, off)
        second, first = numpy.sort(other)[:, -2:].T
        if ((own.argmax(-1) != other.argmax(-1)) & (first - second > most_off * reach)).any():
            return f"step {step}: tokens {own.argmax(-1)}, not {other.argmax(-1)}", most
    return "", most
