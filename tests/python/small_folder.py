"""Folders of small language models as ONNX, with a byte-level tokenizer, written without packages."""

import json
import pathlib

from small_models import floats, integers, model, node, value

HEADS, KEY_HEADS, SIZE, LAYERS, MERGES = 4, 2, 8, 2, (("h", "e"), ("l", "l"), ("he", "ll"), ("\u0120", "w"), ("o", "r"), ("\u0120w", "or"))
SPECIALS = ("<|begin|>", "<|im_start|>", "<|im_end|>")


def byte_names():
    """GPT-2's printable character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    names = {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}
    return [names[byte] for byte in range(256)]


TOKENS = [*byte_names(), *(a + b for a, b in MERGES), *SPECIALS]


def tokenizer():
    """A tokenizer.json as a document."""
    vocab = {name: i for i, name in enumerate(TOKENS) if name not in SPECIALS}
    added = [{"id": TOKENS.index(name), "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for name in SPECIALS]  # fmt: skip
    begin = {"SpecialToken": {"id": SPECIALS[0], "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {"type": "TemplateProcessing", "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                           "special_tokens": {SPECIALS[0]: {"id": SPECIALS[0], "ids": [TOKENS.index(SPECIALS[0])], "tokens": [SPECIALS[0]]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": [list(pair) for pair in MERGES]},
    }  # fmt: skip


class Numbers:
    """The same everywhere: between -1 and 1."""

    def __init__(self):
        self.state = 7

    def __call__(self, count, scale):
        made = []
        for _ in range(count):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            made.append(scale * ((self.state >> 40) / (1 << 23) - 1))
        return made


def spelled_attention(layer, cos):
    """Attention as exporters of torch spell it: the cache grows by Concat, heads are repeated by Gather, later keys are hidden by a mask."""
    at, nodes = f"l{layer}.", []
    for part, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
        nodes += [node("MatMul", [at + "x", at + part], [at + part + "0"]), node("Reshape", [at + part + "0", f"shape{heads}"], [at + part + "1"]),
                  node("Transpose", [at + part + "1"], [at + part + "2"], perm=[0, 2, 1, 3])]  # fmt: skip
    for part, name in (("k", "key"), ("v", "value")):
        nodes += [node("Concat", [f"past_key_values.{layer}.{name}", at + part + "2"], [f"present.{layer}.{name}"], axis=2),
                  node("Gather", [f"present.{layer}.{name}", "heads"], [at + part + "3"], axis=1)]  # fmt: skip
    return [*nodes, node("Transpose", [at + "k3"], [at + "k4"], perm=[0, 1, 3, 2]), node("MatMul", [at + "q2", at + "k4"], [at + "s0"]),
            node("Mul", [at + "s0", "scale"], [at + "s"]), node("Add", [at + "s", "bias"], [at + "s1"]), node("Where", ["hidden", "lowest", at + "s1"], [at + "s2"]),
            node("Softmax", [at + "s2"], [at + "s3"], axis=-1), node("MatMul", [at + "s3", at + "v3"], [at + "y0"]),
            node("Transpose", [at + "y0"], [at + "y1"], perm=[0, 2, 1, 3]), node("Reshape", [at + "y1", "flat"], [at + "y"])]  # fmt: skip


def grouped_attention(layer):
    at = f"l{layer}."
    names = [f"past_key_values.{layer}.key", f"past_key_values.{layer}.value", "seqlens", "total"]
    nodes = [node("MatMul", [at + "x", at + part], [at + part + "0"]) for part in "qkv"]
    return [*nodes, node("GroupQueryAttention", [at + "q0", at + "k0", at + "v0", *names], [at + "y", f"present.{layer}.key", f"present.{layer}.value"],
                         domain="com.microsoft", num_heads=HEADS, kv_num_heads=KEY_HEADS)]  # fmt: skip


def kept_rows(hidden):
    """The last num_logits_to_keep rows of a value, all where that is 0, and the constants for it: as transformers.js exports models."""
    nodes = [node("Neg", ["num_logits_to_keep"], ["minus"]), node("Reshape", ["minus", "list"], ["starts"]),
             node("Slice", [hidden, "starts", "ends", "rows_axis"], ["kept"])]  # fmt: skip
    return nodes, [integers("list", [1], [1]), integers("ends", [1], [1 << 40]), integers("rows_axis", [1], [1])]


def decoder(grouped=True, tokens=len(TOKENS), size=SIZE, extra=(), keeps=False, branches=False, slope=0.0):
    """The bytes of a decoder of LAYERS layers; `grouped`: with GroupQueryAttention, as onnxruntime-genai's builder writes it. `keeps`, `branches`:
    with the inputs num_logits_to_keep and use_cache_branch. `slope`, of those without GroupQueryAttention: scores rise with a key's position, so that caches grow."""
    rng, width, keys = Numbers(), HEADS * size, KEY_HEADS * size
    table, noise = rng(tokens * width, 1.0), rng(tokens * width, 0.6)
    # What follows a token is another one, by what was before; letters rather than control tokens.
    follows = [table[(t * 7 + 3) % tokens * width + i] * (0.7 if 32 <= t < 127 else 0.3) for i in range(width) for t in range(tokens)]
    out = [(a + b) * (t % tokens < tokens - len(SPECIALS)) for t, (a, b) in enumerate(zip(follows, noise))]
    constants = [floats("table", [tokens, width], table), floats("out", [width, tokens], out)]
    nodes = [node("Gather", ["table", "input_ids"], ["l0.x"])]
    if grouped:
        constants += [integers("one", [], [1]), integers("axes", [1], [1])]
        nodes += [node("ReduceSum", ["attention_mask", "axes"], ["sum"], keepdims=0), node("Sub", ["sum", "one"], ["less"]), node("Cast", ["less"], ["seqlens"], to=6),
                  node("Shape", ["attention_mask"], ["extents"]), node("Gather", ["extents", "one"], ["all"]), node("Cast", ["all"], ["total"], to=6)]  # fmt: skip
    else:
        constants += [integers(f"shape{heads}", [4], [0, 0, heads, size]) for heads in (HEADS, KEY_HEADS)]
        constants += [integers("flat", [3], [0, 0, width]), integers("heads", [HEADS], [i * KEY_HEADS // HEADS for i in range(HEADS)]), floats("scale", [], [size**-0.5]),
                      floats("lowest", [], [-1e9]), floats("slope", [], [slope]), integers("zero", [], [0]), integers("step", [], [1]), integers("last", [1], [-1]), integers("first", [1], [1])]  # fmt: skip
        # Keys of later positions: those of the mask count from 0, those of queries are position_ids.
        nodes += [node("Shape", ["attention_mask"], ["extents"]), node("Gather", ["extents", "step"], ["all"]), node("Range", ["zero", "all", "step"], ["places"]),
                  node("Unsqueeze", ["position_ids", "last"], ["rows"]), node("Less", ["rows", "places"], ["later"]), node("Unsqueeze", ["later", "first"], ["hidden"]),
                  node("Cast", ["places"], ["places.f"], to=1), node("Mul", ["places.f", "slope"], ["bias"])]  # fmt: skip
    for layer in range(LAYERS):
        at = f"l{layer}."
        constants += [floats(at + part, [width, columns], rng(width * columns, 0.4)) for part, columns in (("q", width), ("k", keys), ("v", keys))]
        nodes += grouped_attention(layer) if grouped else spelled_attention(layer, None)
        nodes.append(node("Add", [at + "x", at + "y"], [f"l{layer + 1}.x"]))
    last = f"l{LAYERS}.x"
    if branches:  # 0 times the flag, added
        constants.append(floats("nothing", [], [0.0]))
        nodes += [node("Cast", ["use_cache_branch"], ["flag"], to=1), node("Mul", ["flag", "nothing"], ["no"]), node("Add", [last, "no"], ["branched"])]
        last, extra = "branched", [*extra, value("use_cache_branch", [1], "bool")]
    if keeps:
        more, numbers = kept_rows(last)
        nodes, constants, last, extra = nodes + more, constants + numbers, "kept", [*extra, value("num_logits_to_keep", [], "int64")]
    nodes.append(node("MatMul", [last, "out"], ["logits"]))
    inputs = [value("input_ids", ["batch", "step"], "int64"), value("attention_mask", ["batch", "total"], "int64")]
    inputs += [] if grouped else [value("position_ids", ["batch", "step"], "int64")]
    outputs = [value("logits", ["batch", "step", tokens])]
    for layer in range(LAYERS):
        for name in ("key", "value"):
            inputs.append(value(f"past_key_values.{layer}.{name}", ["batch", KEY_HEADS, "past", size]))
            outputs.append(value(f"present.{layer}.{name}", ["batch", KEY_HEADS, "all_tokens", size]))
    return model(nodes, [*inputs, *extra], outputs, constants, domains=["com.microsoft"] if grouped else [])


def write(folder, grouped=True, **more):
    """As onnxruntime-genai's builder writes one (`grouped`), or as repositories of transformers.js are."""
    folder = pathlib.Path(folder)
    (folder / ("." if grouped else "onnx")).mkdir(parents=True, exist_ok=True)
    (folder / ("model.onnx" if grouped else "onnx/model.onnx")).write_bytes(decoder(grouped, **more))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (folder / "chat_template.jinja").write_text("{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}")
    end = TOKENS.index("<|im_end|>")
    if grouped:
        parts = {"filename": "model.onnx", "head_size": SIZE, "num_key_value_heads": KEY_HEADS}
        (folder / "genai_config.json").write_text(json.dumps({"model": {"context_length": 128, "eos_token_id": end, "bos_token_id": 0, "decoder": parts}}))
    else:
        (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 128, "eos_token_id": [end], "model_type": "llama"}))
    return folder
