"""Processes that run models for others, one request after the other, and are replaced when they die or hang."""

import os
import pathlib
import pickle
import select
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# What glibc is told to fill fresh memory with, the inverse of these bytes: 0x7f, huge numbers as f32 and NaN as f16, and 0xfd.
FILLS = {1: 0x80, 2: 0x02}


class Died(Exception):
    """How a process ended, or that it took too long, with what it said at last."""


class Server:
    """`kind`: onnxruntime, evaluator (peers.py), or fettle. `fill`: which of FILLS fresh memory is filled with, by glibc's malloc."""

    def __init__(self, kind, library, fill=0):
        self.words = [sys.executable, str(HERE / "servers.py"), kind, str(library)]
        self.environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        if fill:
            self.environment["GLIBC_TUNABLES"] = f"glibc.malloc.perturb={FILLS[fill]}"
            # Of builds that mark memory: all that nobody has written, before each step.
            self.environment["FETTLE_MEMORY_FILL"] = {1: "ff", 2: "7f"}[fill]
        self.process, self.said = None, None

    def start(self):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, env=self.environment)

    def ask(self, request, seconds):
        """The reply, an exception of the server's raised here. Died."""
        if self.process is None:
            self.start()
        try:
            send(self.process.stdin, request)
        except BrokenPipeError:
            raise self.ended() from None
        reply = self.receive(time.monotonic() + seconds)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def receive(self, deadline):
        content, wanted = b"", 8
        while len(content) < wanted:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                self.process.kill()
                self.ended()
                raise Died("hangs")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise self.ended()
            content += part
            if wanted == 8 and len(content) >= 8:
                wanted = 8 + struct.unpack("<q", content[:8])[0]
        return pickle.loads(content[8:])

    def ended(self):
        code = self.process.wait()
        self.said.seek(0)
        text = self.said.read().decode("utf-8", "replace").strip()
        self.stop()
        return Died(f"ended with {code}: {text[-1500:]}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.said.close()
        self.process = None


def send(stream, value):
    content = pickle.dumps(value, protocol=5)
    stream.write(struct.pack("<q", len(content)) + content)
    stream.flush()


def onnxruntime_runner(_):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def run(model, feed, outputs):
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return session.run(outputs, feed)

    return run


def evaluator_runner(_):
    import onnx

    import peers

    return lambda model, feed, outputs, doubles=False: (peers.in_doubles if doubles else peers.evaluate)(onnx.load_from_string(model), feed, outputs)


def fettle_runner(library):
    from library import Library

    return Library(library).run


def main():
    sys.path.insert(0, str(HERE))
    run = {"onnxruntime": onnxruntime_runner, "evaluator": evaluator_runner, "fettle": fettle_runner}[sys.argv[1]](sys.argv[2])
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        header = requests.read(8)
        if len(header) < 8:
            return
        request = pickle.loads(requests.read(struct.unpack("<q", header)[0]))
        try:
            reply = run(**request)
        except Exception as error:  # also those that cannot be pickled
            reply = RuntimeError(f"{type(error).__name__}: {error}")
        send(replies, reply)


if __name__ == "__main__":
    main()
