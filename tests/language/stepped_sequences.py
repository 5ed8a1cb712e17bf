"""Sequences of a language model that take steps together, beside each of them alone."""

import ctypes

import numpy
from library import Library

COUNT = 3


class Options(ctypes.Structure):
    """fettle_generate_options."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("context", ctypes.c_int64), ("threads", ctypes.c_int64), ("sequences", ctypes.c_int64),
                ("device", ctypes.c_char_p), ("cache", ctypes.c_char_p)]  # fmt: skip


class Sequences:
    """COUNT of one model, forks of the first."""

    def __init__(self, library, folder):
        self.fettle, self.handles = Library(library), []
        options = Options(ctypes.sizeof(Options), 0, 2, COUNT, None, None)
        self.handles.append(self.made("fettle_generate_create", str(folder).encode(), ctypes.byref(options)))
        while len(self.handles) < COUNT:
            self.handles.append(self.made("fettle_generate_fork", self.handles[0]))

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.fettle.call(name, *arguments, ctypes.byref(handle))
        return handle

    def read(self, index, tokens):
        self.fettle.call("fettle_generate_read", self.handles[index], (ctypes.c_int32 * len(tokens))(*tokens), ctypes.c_size_t(len(tokens)))

    def step(self, chosen, tokens):
        handles = (ctypes.c_void_p * len(chosen))(*(self.handles[index] for index in chosen))
        self.fettle.call("fettle_generate_step", handles, (ctypes.c_int32 * len(tokens))(*tokens), ctypes.c_size_t(len(chosen)))

    def logits(self, index):
        made, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        self.fettle.call("fettle_generate_logits", self.handles[index], ctypes.byref(made), ctypes.byref(count))
        return numpy.ctypeslib.as_array(made, (count.value,)).copy()

    def free(self):
        for handle in self.handles:
            self.fettle.calls.fettle_generate_free(handle)


def compare(library, folder, draw, size, most_off):
    """What is wrong; empty: nothing. `size`: of the vocabulary."""
    tokens = lambda count: [draw.randrange(3, size) for _ in range(count)]  # noqa: E731
    sequences, read = Sequences(library, folder), [tokens(draw.randrange(1, 40)) for _ in range(COUNT)]
    for index in range(COUNT):
        sequences.read(index, read[index])
    for _ in range(8):
        chosen = draw.sample(range(COUNT), draw.randrange(1, COUNT + 1))
        now = tokens(len(chosen))
        sequences.step(chosen, now)
        for index, token in zip(chosen, now):
            read[index].append(token)
    together = [sequences.logits(index) for index in range(COUNT)]
    for index in range(COUNT):
        sequences.fettle.call("fettle_generate_rewind", sequences.handles[0], ctypes.c_int64(0))
        sequences.read(0, read[index])
        alone = sequences.logits(0)
        off = numpy.abs(together[index] - alone).max() / numpy.ptp(alone)
        if not off <= most_off:
            return f"sequence {index} of {COUNT} that step together: {off:.4%} of the range off"
    sequences.free()
    return ""
