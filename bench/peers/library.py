"""Fettle's library as an engine: what engines.py has of others."""

import ctypes

DTYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
          "uint32": 12}  # fettle_dtype counts as ONNX does


class Options(ctypes.Structure):
    """fettle_session_options; what is zero is the default."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int), ("others", ctypes.c_byte * 100)]


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(str(path))
        self.calls.fettle_last_error.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        if getattr(self.calls, name)(*arguments) != 0:
            raise RuntimeError(self.calls.fettle_last_error().decode())

    def load(self, path):
        model = ctypes.c_void_p()
        self.call("fettle_model_load", str(path).encode(), ctypes.byref(model))
        return model

    def load_bytes(self, data):
        model = ctypes.c_void_p()
        self.call("fettle_model_load_bytes", data, ctypes.c_size_t(len(data)), b"model", ctypes.byref(model))
        return model

    def session(self, model, threads, feeds):
        options = Options(ctypes.sizeof(Options), threads)
        session = ctypes.c_void_p()
        self.call("fettle_session_create", model, ctypes.byref(options), ctypes.byref(session))
        for name, value in feeds.items():
            tensor = ctypes.c_void_p()
            dims = (ctypes.c_int64 * value.ndim)(*value.shape)
            self.call("fettle_tensor_wrap", DTYPES[value.dtype.name], value.ndim, dims,
                      ctypes.c_void_p(value.ctypes.data), ctypes.c_size_t(value.nbytes), ctypes.byref(tensor))
            self.call("fettle_session_set_input", session, name.encode(), tensor)
            self.call("fettle_tensor_free", tensor)
        return session


def fettle_by(library):
    """What ENGINES have for each name, for the library at this path."""
    def make(path, threads, feeds, _):
        calls = Library(library)
        session = calls.session(calls.load(path), threads, feeds)
        return lambda: calls.call("fettle_session_run", session)

    return make
