"""Language models by Fettle's library and by llama.cpp, each in a process of its own: engines.py ENGINE MODEL THREADS, for Engine."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from llama_library import LlamaLibrary

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = ROOT / "build/release/lib/libfettle.so"
CONTEXT = 1024


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("context", ctypes.c_int64), ("threads", ctypes.c_int64), ("sequences", ctypes.c_int64),
                ("device", ctypes.c_char_p), ("cache", ctypes.c_char_p)]  # fmt: skip


class Fettle:
    def __init__(self, model, threads, cache=b"f16"):
        self.calls = ctypes.CDLL(str(LIBRARY))
        self.calls.fettle_last_error.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), CONTEXT, threads, 1, b"cpu", cache)
        self.call("create", model.encode(), ctypes.byref(options), ctypes.byref(self.handle))

    def call(self, name, *arguments):
        if getattr(self.calls, f"fettle_generate_{name}")(*arguments) != 0:
            raise RuntimeError(self.calls.fettle_last_error().decode("utf-8", "backslashreplace"))

    def encode(self, text, special=False):
        data, count = text.encode() if isinstance(text, str) else text, ctypes.c_size_t()
        given = (self.handle, data, ctypes.c_size_t(len(data)), int(special))
        tokens = (ctypes.c_int32 * (len(data) + 1))()
        self.call("encode", *given, tokens, ctypes.c_size_t(len(tokens)), ctypes.byref(count))
        if count.value > len(tokens):
            tokens = (ctypes.c_int32 * count.value)()
            self.call("encode", *given, tokens, ctypes.c_size_t(len(tokens)), ctypes.byref(count))
        return tokens[: count.value]

    def decode(self, token):
        """The bytes that a token adds."""
        text, count = ctypes.create_string_buffer(1024), ctypes.c_size_t()
        self.call("decode", self.handle, token, text, ctypes.c_size_t(len(text)), ctypes.byref(count))
        return text.raw[: count.value]

    def read(self, tokens):
        self.call("read", self.handle, (ctypes.c_int32 * len(tokens))(*tokens), ctypes.c_size_t(len(tokens)))

    def logits(self):
        import numpy

        at, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
        self.call("logits", self.handle, ctypes.byref(at), ctypes.byref(count))
        return numpy.ctypeslib.as_array(at, (count.value,))

    def generate(self, prompt, count):
        """Greedy tokens, and seconds of the prompt and of the steps behind the first token."""
        self.call("rewind", self.handle, ctypes.c_int64(0))
        begin = time.perf_counter()
        self.read(prompt)
        middle = time.perf_counter()
        tokens, token = [], ctypes.c_int32()
        for i in range(count):
            self.call("next", self.handle, ctypes.byref(token))
            tokens.append(token.value)
            if i + 1 < count:
                self.read(tokens[-1:])
        return {"tokens": tokens, "prompt": middle - begin, "steps": time.perf_counter() - middle}

    def greedy(self, prompt, count):
        return self.generate(prompt, count)["tokens"]

    def gap(self, prompt, chosen, other):
        """By how much of the logits' range `chosen` lies over `other` behind a prompt."""
        self.call("rewind", self.handle, ctypes.c_int64(0))
        self.read(prompt)
        logits = self.logits()
        return float((logits[chosen] - logits[other]) / (logits.max() - logits.min()))

    def window(self, tokens, first):
        """Sum of -log p of the tokens from `first` on, read from an empty sequence."""
        import numpy

        self.call("rewind", self.handle, ctypes.c_int64(0))
        self.read(tokens[:first])
        total = 0.0
        for token in tokens[first:]:
            logits = self.logits().astype(numpy.float64)
            total += float(numpy.log(numpy.exp(logits - logits.max()).sum()) + logits.max() - logits[token])
            self.read([token])
        return total


class FettleBytes(Fettle):
    """With a cache in bytes."""

    def __init__(self, model, threads):
        super().__init__(model, threads, b"bytes")


class Llama:
    def __init__(self, model, threads):
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = model
        params.n_ctx, params.n_parallel = CONTEXT, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self.server = xllamacpp.Server(params)

    def complete(self, prompt, count, **options):
        wanted = {"prompt": prompt, "n_predict": count, "temperature": 0.0, "top_k": 1, "cache_prompt": False, **options}
        answer = self.server.handle_completions(wanted)
        return json.loads(answer) if isinstance(answer, (str, bytes)) else answer

    def generate(self, prompt, count):
        """As Fettle's, without the tokens."""
        times = self.complete(prompt, count, ignore_eos=True)["timings"]
        return {"prompt": times["prompt_ms"] / 1000, "steps": times["predicted_ms"] / 1000}

    def greedy(self, prompt, count):
        """Until an answer ends by itself."""
        answer = self.complete(prompt, count, logprobs=1, n_probs=1)
        return [row["id"] for row in answer["choices"][0]["logprobs"]["content"]]


class Engine:
    """One of the classes above in a process: a call is a line of JSON."""

    def __init__(self, name, model, threads):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([sys.executable, __file__, name, str(model), str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def __getattr__(self, name):
        def ask(*arguments):
            self.process.stdin.write(json.dumps([name, arguments]) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            if not answer:
                self.process.wait()
                self.errors.seek(0)
                raise RuntimeError((self.errors.read().strip().splitlines() or ["it died"])[-1])
            return json.loads(answer)

        return ask

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engines = {"fettle": Fettle, "fettle bytes": FettleBytes, "llama.cpp": Llama, "llama library": LlamaLibrary}
    engine = engines[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(getattr(engine, name)(*arguments)), file=answers, flush=True)
    answers.close()
    os._exit(0)  # servers of others wait for threads that do not end


if __name__ == "__main__":
    main()
