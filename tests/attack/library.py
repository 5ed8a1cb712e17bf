"""The built library in this process, through its C interface alone: no wheel is needed, and what is attacked is what was built."""

import ctypes

import ml_dtypes
import numpy as np

# include/fettle/fettle.h: fettle_dtype
KINDS = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16,
         11: np.float64, 12: np.uint32, 13: np.uint64, 16: ml_dtypes.bfloat16, 17: ml_dtypes.float8_e4m3fn, 19: ml_dtypes.float8_e5m2,
         21: ml_dtypes.uint4, 22: ml_dtypes.int4}
NUMBERS = {np.dtype(kind): number for number, kind in KINDS.items()}


# Of a session: a Range of all 32-bit numbers would take a minute.
MOST_BYTES = 1 << 30


class Options(ctypes.Structure):
    """fettle_session_options"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("reference_only", ctypes.c_int),
                ("extra_outputs", ctypes.c_void_p), ("extra_output_count", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("strict_device", ctypes.c_int), ("precision", ctypes.c_char_p), ("memory", ctypes.c_char_p), ("queue_window", ctypes.c_int),
                ("kernel_ms", ctypes.c_double), ("programs", ctypes.c_char_p), ("svm", ctypes.c_char_p), ("when_busy", ctypes.c_char_p),
                ("subnormals", ctypes.c_char_p), ("max_memory", ctypes.c_int64)]


class Refused(Exception):
    """The library's message, after its status."""


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        self.lib.fettle_last_error.restype = self.lib.fettle_status_name.restype = ctypes.c_char_p
        for name in ("data", "dims"):
            function = getattr(self.lib, f"fettle_tensor_{name}")
            function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        self.lib.fettle_tensor_size.restype = ctypes.c_size_t
        for name in ("model_free", "session_free", "tensor_free", "tensor_dtype", "tensor_rank", "tensor_size"):
            getattr(self.lib, f"fettle_{name}").argtypes = [ctypes.c_void_p]

    def check(self, status):
        if status != 0:
            said = self.lib.fettle_last_error().decode("utf-8", "replace")
            raise Refused(f"{self.lib.fettle_status_name(status).decode()}: {said}")

    def run(self, model, feed, outputs, reference=False, threads=1, runs=1, device=None):
        """The named outputs of the last of `runs` inferences of a session of its own. `device`: as --device; None: the CPU. Refused."""
        handle, session, wrapped = ctypes.c_void_p(), ctypes.c_void_p(), []
        try:
            self.check(self.lib.fettle_model_load_bytes(model, ctypes.c_size_t(len(model)), None, ctypes.byref(handle)))
            options = Options(struct_size=ctypes.sizeof(Options), threads=threads, reference_only=int(reference), device=device and device.encode(),
                              max_memory=MOST_BYTES)
            self.check(self.lib.fettle_session_create(handle, ctypes.byref(options), ctypes.byref(session)))
            for name, value in feed.items():
                wrapped.append(self.wrap(value))
                self.check(self.lib.fettle_session_set_input(session, name.encode(), wrapped[-1][0]))
            for _ in range(runs):
                self.check(self.lib.fettle_session_run(session))
            return [self.output(session, name) for name in outputs]
        finally:
            for tensor, _ in wrapped:
                self.lib.fettle_tensor_free(tensor)
            self.lib.fettle_session_free(session)
            self.lib.fettle_model_free(handle)

    def wrap(self, value):
        value = np.asarray(value, order="C")
        tensor, dims = ctypes.c_void_p(), (ctypes.c_int64 * max(1, value.ndim))(*value.shape)
        self.check(self.lib.fettle_tensor_wrap(NUMBERS[value.dtype], value.ndim, dims, ctypes.c_void_p(value.ctypes.data),
                                               ctypes.c_size_t(value.nbytes), ctypes.byref(tensor)))
        return tensor, value

    def output(self, session, name):
        tensor = ctypes.c_void_p()
        self.check(self.lib.fettle_session_output(session, name.encode(), ctypes.byref(tensor)))
        try:
            rank = self.lib.fettle_tensor_rank(tensor)
            dims = ctypes.cast(self.lib.fettle_tensor_dims(tensor), ctypes.POINTER(ctypes.c_int64))[:rank] if rank else []
            size = self.lib.fettle_tensor_size(tensor)
            content = ctypes.string_at(self.lib.fettle_tensor_data(tensor), size) if size else b""
            return np.frombuffer(content, KINDS[self.lib.fettle_tensor_dtype(tensor)]).reshape(dims)
        finally:
            self.lib.fettle_tensor_free(tensor)
