"""llama.cpp's C functions, which the package xllamacpp brings: logits of all tokens of a window at once."""

import ctypes
import pathlib

WINDOW = 512


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)), ("embd", ctypes.c_void_p), ("pos", ctypes.POINTER(ctypes.c_int32)),
                ("n_seq_id", ctypes.POINTER(ctypes.c_int32)), ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
                ("logits", ctypes.POINTER(ctypes.c_int8))]  # fmt: skip


class ModelOptions(ctypes.Structure):
    _fields_ = [("all", ctypes.c_char * 512)]  # larger than any version's; kept as they come


class ContextOptions(ctypes.Structure):
    _fields_ = [("n_ctx", ctypes.c_uint32), ("n_batch", ctypes.c_uint32), ("n_ubatch", ctypes.c_uint32), ("n_seq_max", ctypes.c_uint32),
                ("rest", ctypes.c_char * 496)]  # fmt: skip


LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


@LOG
def say_nothing(_level, _text, _data):
    """What it loads, tensor by tensor."""


class LlamaLibrary:
    """One sequence, read in windows from their first token on."""

    def __init__(self, model, threads):
        import xllamacpp

        calls = self.calls = ctypes.CDLL(str(next(pathlib.Path(xllamacpp.__file__).parent.glob("*.so"))))
        for name, kind in (("llama_model_default_params", ModelOptions), ("llama_context_default_params", ContextOptions), ("llama_batch_init", Batch),
                           ("llama_model_load_from_file", ctypes.c_void_p), ("llama_init_from_model", ctypes.c_void_p), ("llama_get_memory", ctypes.c_void_p),
                           ("llama_model_get_vocab", ctypes.c_void_p), ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float))):  # fmt: skip
            getattr(calls, name).restype = kind
        calls.llama_log_set(say_nothing, None)
        calls.llama_backend_init()
        self.model = ctypes.c_void_p(calls.llama_model_load_from_file(model.encode(), calls.llama_model_default_params()))
        options = calls.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = WINDOW
        self.context = ctypes.c_void_p(calls.llama_init_from_model(self.model, options))
        if not self.model or not self.context:
            raise RuntimeError(f"llama.cpp does not load {model}")
        calls.llama_set_n_threads(self.context, threads, threads)
        self.vocabulary = calls.llama_vocab_n_tokens(ctypes.c_void_p(calls.llama_model_get_vocab(self.model)))
        self.batch = calls.llama_batch_init(WINDOW, 0, 1)

    def window(self, tokens, first):
        """Sum of -log p of the tokens from `first` on."""
        import numpy

        self.calls.llama_memory_clear(ctypes.c_void_p(self.calls.llama_get_memory(self.context)), True)
        self.batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i], self.batch.n_seq_id[i], self.batch.logits[i] = token, i, 1, i >= first - 1
            self.batch.seq_id[i][0] = 0
        if self.calls.llama_decode(self.context, self.batch) != 0:
            raise RuntimeError("llama_decode")
        total = 0.0
        for i in range(first, len(tokens)):
            logits = numpy.ctypeslib.as_array(self.calls.llama_get_logits_ith(self.context, i - 1), (self.vocabulary,)).astype(numpy.float64)
            total += float(numpy.log(numpy.exp(logits - logits.max()).sum()) + logits.max() - logits[tokens[i]])
        return total
