#!/usr/bin/env python3
"""Tokens per second of a folder with an ONNX model, by fettle bench --generate and by a loop over ONNX Runtime.

    bench/language/folder_speed.py FETTLE FOLDER... [--prompt 256] [--answer 64] [--threads 1] [--turns 3]
    bench/language/folder_speed.py --export NAME,... FOLDER     writes decoders of random weights there, by both exporters of torch

FOLDER may be the path of a model. The engines take turns; each figure is the median over them. ONNX Runtime's loop hands over each cache that a run gives without a copy.
Decoders of --export have 12 layers of 576 with 9 heads of 64, 3 of them of keys, and 8,192 tokens: names of tests/language/decoder_exports.py.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "bench/peers"), str(ROOT / "tests/language")]
TOKENS = 8192


def export(names, folder):
    import decoder_exports
    import tokenizers

    for name in names:
        for dynamo in (True, False):
            made = decoder_exports.Export(name, "sdpa" if dynamo else "eager", {**decoder_exports.LARGE, "vocab_size": TOKENS, "max_position_embeddings": 4096})
            to = folder / f"{name}-{'dynamo' if dynamo else 'script'}"
            to.mkdir(parents=True, exist_ok=True)
            made.write(to / "model.onnx", dynamo)
            made.module.model.config.save_pretrained(to)
            words = tokenizers.models.WordLevel({f"w{i}": i for i in range(TOKENS)}, unk_token="w0")
            tokenizers.Tokenizer(words).save(str(to / "tokenizer.json"))
            print(to)


def model_of(folder):
    return folder if folder.is_file() else next(path for path in (folder / "model.onnx", folder / "onnx/model.onnx") if path.is_file())


def size_of(path):
    """Of heads, where the model does not say it."""
    config = path.parent / "genai_config.json"
    return json.loads(config.read_text())["model"]["decoder"]["head_size"] if config.is_file() else 0


class Loop:
    """Greedy steps by ONNX Runtime."""

    def __init__(self, path, threads):
        import numpy
        import onnxruntime

        self.numpy, self.value = numpy, onnxruntime.OrtValue.ortvalue_from_numpy
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        options.enable_mem_reuse = options.enable_mem_pattern = False
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = {value.name: value for value in self.session.get_inputs()}
        self.names = [value.name for value in self.session.get_outputs()]

    def read(self, tokens, past, read):
        numpy = self.numpy
        given = {"input_ids": numpy.array([tokens], numpy.int64), "attention_mask": numpy.ones([1, read + len(tokens)], numpy.int64),
                 "position_ids": numpy.arange(read, read + len(tokens), dtype=numpy.int64)[None]}  # fmt: skip
        given = {name: self.value(value) for name, value in given.items() if name in self.inputs}
        made = dict(zip(self.names, self.session.run_with_ort_values(self.names, {**given, **past})))
        logits = made["logits"].numpy()[0, -1]
        return int(logits.argmax()), {name: made[name.replace("past_key_values", "present")] for name in past}

    def rates(self, prompt, answer, size):
        kinds = {"tensor(float)": self.numpy.float32, "tensor(float16)": self.numpy.float16}
        past = {name: self.value(self.numpy.zeros([1, value.shape[1], 0, value.shape[3] if isinstance(value.shape[3], int) else size], kinds[value.type]))
                for name, value in self.inputs.items() if name.startswith("past")}  # fmt: skip
        begin = time.perf_counter()
        token, past = self.read([5 + i % 90 for i in range(prompt)], past, 0)
        middle = time.perf_counter()
        for i in range(answer):
            token, past = self.read([token], past, prompt + i)
        return prompt / (middle - begin), answer / (time.perf_counter() - middle)


def ours(fettle, folder, arguments):
    command = [fettle, "bench", str(folder), "--generate", f"{arguments.prompt},{arguments.answer}", "--iters", "1", "--threads", str(arguments.threads), "--json"]
    run = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return run["prompt"]["tokens_per_s"], run["answer"]["tokens_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+")
    parser.add_argument("--export")
    for name, value in {"prompt": 256, "answer": 64, "threads": 1, "turns": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    if arguments.export:
        return export(arguments.export.split(","), pathlib.Path(arguments.words[0]))
    for folder in map(pathlib.Path, arguments.words[1:]):
        loop, size, rows = Loop(model_of(folder), arguments.threads), size_of(model_of(folder)), []
        loop.rates(8, 2, size)
        for _ in range(arguments.turns):
            rows.append((*ours(arguments.words[0], folder, arguments), *loop.rates(arguments.prompt, arguments.answer, size)))
        prompt, answer, their_prompt, their_answer = map(statistics.median, zip(*rows))
        print(f"{folder}: prompt {prompt:.0f} and {their_prompt:.0f} tokens/s ({prompt / their_prompt:.2f}x), "
              f"answer {answer:.1f} and {their_answer:.1f} ({answer / their_answer:.2f}x)", flush=True)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
