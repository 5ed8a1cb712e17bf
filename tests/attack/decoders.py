#!/usr/bin/env python3
"""Changed language models: GGUF files cut off, with bits turned over, and with other counts, lengths, types and extents.

usage: tests/attack/decoders.py FETTLE [--seed N] [--seconds S] [--count N] [--out FOLDER]

The files are those of tests/python/small_decoder.py, of each architecture and type; most changes hit what stands before the
weights. Each is continued from a prompt of random bytes, or quantised. The same seed makes the same cases; --count is 2,000 by default.
"""

import argparse
import os
import pathlib
import random
import struct
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/models"), str(ROOT / "tests/python")]
from check_mutated import Mutations, mutate  # noqa: E402
from small_decoder import FORMS, TYPES, architecture, small_decoder  # noqa: E402

# Values of the metadata that a file may have, and those that make no sense.
WORTHS = (0, 1, 2, 3, 7, 63, 64, 65, 128, 4096, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 62, 1 << 63, (1 << 64) - 1)


def header_end(data):
    """Where the weights begin, roughly: behind the name of the last tensor."""
    return data.rindex(b".weight") + 64


def turn_bits(data, draw):
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        data[draw.randrange(header_end(data) if draw.random() < 0.8 else len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def put_number(data, draw):
    """A number of 4 or 8 bytes in the place of another."""
    data, size = bytearray(data), draw.choice((4, 8))
    at = draw.randrange(header_end(data))
    number = draw.choice((0, 1, (1 << (8 * size)) - 1, 1 << draw.randrange(8 * size), (1 << draw.randrange(8 * size)) - 1))
    data[at : at + size] = struct.pack("<Q", number)[:size]
    return bytes(data)


def change_values(draw):
    """A whole file, some of whose values are others."""
    name, kind = draw.choice(list(FORMS)), draw.choice(list(TYPES))
    keys = [f"{architecture(name)}.{key}" for key in (
        "block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "attention.key_length", "attention.value_length", "attention.sliding_window", "attention.sliding_window_pattern", "attention.scale",
        "attn_logit_softcapping", "final_logit_softcapping", "embedding_scale", "residual_scale", "logit_scale", "rope.dimension_count",
        "rope.freq_base", "rope.freq_base_swa", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.attn_factor",
        "rope.scaling.original_context_length", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow",
        "attention.layer_norm_rms_epsilon", "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count",
        "expert_shared_feed_forward_length", "expert_gating_func", "expert_weights_norm", "expert_weights_scale", "expert_group_count",
        "leading_dense_block_count", "interleave_moe_layer_step", "nextn_predict_layers", "attention.clamp_kqv", "attention.max_alibi_bias",
        "attention.kv_lora_rank", "attention.q_lora_rank", "attention.key_length_mla", "attention.value_length_mla",
        "attention.temperature_scale", "rope.scaling.yarn_log_multiplier", "ssm.conv_kernel", "ssm.inner_size",
        "ssm.state_size", "ssm.time_step_rank", "ssm.group_count", "ssm.dt_b_c_rms", "shortconv.l_cache", "full_attention_interval",
        "rope.scaling.finetuned")]  # fmt: skip
    keys += ["tokenizer.ggml.pre", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.bos_token_id", "general.architecture", "tokenizer.ggml.tokens",
             "tokenizer.ggml.token_type", "tokenizer.ggml.merges", "tokenizer.ggml.model", "tokenizer.chat_template"]  # fmt: skip
    worths = (lambda: draw.choice(WORTHS), lambda: draw.choice((0.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"))), lambda: None,
              lambda: draw.choice(("", "llama", "gpt2", "linear", "yarn", "longrope", "tekken", "a b", "\ufffd")),
              lambda: [draw.choice(WORTHS) & 0x7FFFFFFF] * draw.randrange(1, 5),
              lambda: ["".join(chr(draw.randrange(1, 0x300)) for _ in range(draw.randrange(4))) for _ in range(draw.randrange(1, 120))])
    changes = {draw.choice(keys): draw.choice(worths)() for _ in range(draw.choice((1, 1, 2, 4)))}
    return small_decoder(name, kind, changes)


class Decoders(Mutations):
    """As Mutations, with changes that fit these files."""

    def changed(self, path, like, draw):
        data = self.contents[path]
        way = draw.randrange(8)
        if way == 0:
            return data[: draw.randrange(len(data))]
        if way <= 2:
            return turn_bits(data, draw)
        if way <= 4:
            return put_number(data, draw)
        if way <= 6:
            return change_values(draw)
        return mutate(data, self.contents[like], draw)

    def words(self, path, draw):
        if draw.random() < 0.25:
            if draw.random() < 0.2:
                return [["quantise", "{}", "--bits", draw.choice(("4.6", "6", "12")), "--tokens", "9", "-o", os.devnull]]
            return [["quantise", "{}", "--type", draw.choice(("q4_0", "q5_1", "q2_k", "q3_k", "q4_k", "q6_k", "q8_0", "f16", "tq2_0")), "-o", os.devnull]]
        prompt = bytes(draw.randrange(1, 256) for _ in range(draw.choice((1, 3, 30, 200))))
        return [["generate", "{}", "--tokens", "3", "--seed", str(draw.randrange(9)), "--temperature", draw.choice(("0", "1")),
                 *draw.choice(([], ["--context", "20"], ["--chat"], ["--json"])), "--", b"a" + prompt]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fettle", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/attack/decoders")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, f"{name}.{kind}.gguf") for name in FORMS for kind in TYPES]
        for path in files:
            name, kind = path.name.split(".")[:2]
            path.write_bytes(small_decoder(name, kind))
        passed, failed = Decoders(str(options.fettle.resolve()), files, options.seed).run(options.count, options.out, options.seconds)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
