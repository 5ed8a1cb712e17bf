"""Tokenizers of the package `tokenizers` that seeds draw and train, texts for them, and small models to go with them."""

import json
import pathlib
import struct
import unicodedata

import numpy
import onnx
from onnx import helper
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PIECES = ["the", "The", "THE", "they", "HTTPServer", "don't", "we'll", "I'M", "it's", "foo_bar", "x1y22", "1234567", "12", "3.14", "  ", "   ", "\n",
          "\n\n", "\r\n", " \n ", "\t", "//", "a/b", "!!!", "?!", "hello", "World", "\u00c4rGer", "na\u00efve", "Stra\u00dfe", "\u0130stanbul",
          "\u041f\u0440\u0438\u0412\u0435\u0442", "\u65e5\u672c\u8a9e", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab", "\u00f1", "n\u0303", "\u00c9", "'s", "'S",
          "\u2019s", "\u017f", "\u0663\u0664", "\u00bd", "\u2160", "\u2014", "\u2026", "\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469",
          "e\u0301", "a\u0323\u0307", "a\u0307\u0323", "\u212b", "\ufb01", "\uff21", "\u3000", "\u00a0", "\u200b", "\u180e", "\u2028", "\u0085", "\ufeff", "\ufffd",
          "\x00", "\x1b", "#include <a/b.h>\n", "::", "{}", "[]", "\u2581", "\u2581\u2581", "<unk>", "<s>", "</s>", "<|end|>", "[MASK]", "<mask>", "w\u00f6rd", "<0x41>",
          "\u0e44\u0e17\u0e22", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627", " .", " ,", "do not"]  # fmt: skip
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
EXPRESSIONS = [LLAMA3, QWEN2, GPT4O, r"\p{N}{1,3}", r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\d", r"\w+",
               r"\W", r"\S+", r"[^\s\w]+", r"'(?=s)", r"(?<=a).", r"[a-z&&[^e]]" if False else r"[a-df-z]+", r"\d{3}(?=\d)|\d+"]  # fmt: skip
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
SPECIALS = ["<unk>", "<s>", "</s>", "<|end|>", "[UNK]"]


def random_text(draw):
    def piece():
        if draw.random() < 0.06:
            char = chr(draw.choice((draw.randrange(0x250), draw.randrange(0xD800), draw.randrange(0xE000, 0x30000))))
            # Libraries have different versions of Unicode: characters that were assigned early, and are what they were.
            return char if unicodedata.category(char) == unicodedata.ucd_3_2_0.category(char) != "Cn" else " "
        return draw.choice(PIECES)

    return "".join(piece() + draw.choice(["", " ", "", " ", "  "]) for _ in range(draw.randrange(0, 14)))


def charsmap(pairs):
    """The bytes of a map of texts to texts as SentencePiece has them: a double array in which each node's children have a block of 256 units."""
    tree = {}
    for key in pairs:
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[-1] = key
    units, texts = [0] * 256, b""

    def place(node, at, label):
        nonlocal texts
        first = len(units)
        units.extend([0] * 256)
        units[at] = (at ^ first) << 10 | label | (256 if -1 in node else 0)
        for byte in sorted(key for key in node if key >= 0):
            place(node[byte], first ^ byte, byte)
        if -1 in node:
            units[first] = len(texts) | 1 << 31
            texts += pairs[node[-1]].encode() + b"\0"

    place(tree, 0, 0)
    trie = b"".join(struct.pack("<I", unit & 0xFFFFFFFF) for unit in units)
    return struct.pack("<I", len(trie)) + trie + texts


def drawn_charsmap(draw):
    """Characters, and pairs of them, to what compatibility makes of them, to others, or to nothing."""
    characters = sorted({char for piece in PIECES for char in piece} - {"\0"})
    pairs = {}
    for char in draw.sample(characters, draw.randrange(1, 40)):
        key = char + (draw.choice(("\u0301", "\u0303", draw.choice(characters))) if draw.random() < 0.3 else "")
        pairs[key] = draw.choice((unicodedata.normalize("NFKC", key), unicodedata.normalize("NFKC", key).lower(), " ", "", "xy", "\u00e9"))
    return normalizers.Precompiled(charsmap(pairs))


def drawn_normalizer(draw):
    some = [
        normalizers.Nmt, lambda: drawn_charsmap(draw), lambda: drawn_charsmap(draw),
        normalizers.NFC, normalizers.NFD, normalizers.NFKC, normalizers.NFKD, normalizers.Lowercase, normalizers.StripAccents,
        lambda: normalizers.Strip(draw.random() < 0.5, draw.random() < 0.5),
        lambda: normalizers.BertNormalizer(draw.random() < 0.5, draw.random() < 0.5, draw.choice((None, True, False)), draw.random() < 0.5),
        lambda: normalizers.Replace(draw.choice((" ", "e", "''", Regex(r"\s+"), Regex("[0-9]"))), draw.choice(("", "_", "\u2581"))),
        lambda: normalizers.Prepend(draw.choice(("\u2581", "x"))),
    ]  # fmt: skip
    parts = [draw.choice(some)() for _ in range(draw.choice((0, 0, 1, 1, 2)))]
    return None if not parts else parts[0] if len(parts) == 1 else normalizers.Sequence(parts)


def drawn_words(draw):
    metaspace = lambda: pre_tokenizers.Metaspace("\u2581", draw.choice(("always", "first", "never")), draw.random() < 0.5)  # noqa: E731
    split = lambda: pre_tokenizers.Split(Regex(draw.choice(EXPRESSIONS)), draw.choice(BEHAVIORS), draw.random() < 0.3)  # noqa: E731
    some = [
        split, split, split, metaspace, pre_tokenizers.Whitespace, pre_tokenizers.WhitespaceSplit, pre_tokenizers.BertPreTokenizer,
        lambda: pre_tokenizers.Split(draw.choice(("a", " ", "::")), draw.choice(BEHAVIORS), draw.random() < 0.3),
        lambda: pre_tokenizers.CharDelimiterSplit(draw.choice((" ", "e"))),
        lambda: pre_tokenizers.Digits(draw.random() < 0.5),
        lambda: pre_tokenizers.FixedLength(draw.randrange(1, 9)),
        lambda: pre_tokenizers.Punctuation(draw.choice(BEHAVIORS)),
    ]  # fmt: skip
    return [draw.choice(some)() for _ in range(draw.choice((0, 1, 1, 2)))]


def sequence(parts):
    return None if not parts else parts[0] if len(parts) == 1 else pre_tokenizers.Sequence(parts)


def drawn_bytes(draw):
    """Byte-level, as GPT-2, Llama 3, Qwen, SmolLM and GPT-4o are, or with other words."""
    made = Tokenizer(models.BPE(ignore_merges=draw.random() < 0.3))
    kind = draw.choice(("gpt2", "llama3", "qwen2", "gpt4o", "smollm", "any"))
    cuts = {"llama3": LLAMA3, "qwen2": QWEN2, "gpt4o": GPT4O}.get(kind)
    parts = [pre_tokenizers.Split(Regex(cuts), "isolated")] if cuts else [pre_tokenizers.Digits(True)] if kind == "smollm" else drawn_words(draw) if kind == "any" else []
    made.pre_tokenizer = sequence([*parts, pre_tokenizers.ByteLevel(draw.random() < 0.3, use_regex=not cuts)])
    made.decoder = decoders.ByteLevel()
    made.normalizer = normalizers.NFC() if kind == "qwen2" else drawn_normalizer(draw) if kind == "any" else None
    return made, trainers.BpeTrainer(vocab_size=draw.choice((300, 500, 900)), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=SPECIALS, show_progress=False)


def drawn_fallback(draw):
    """BPE whose spaces are marks, with bytes for what is no token, as Llama 2, Mistral and Gemma."""
    falls = draw.random() < 0.8
    made = Tokenizer(models.BPE(byte_fallback=falls, fuse_unk=draw.random() < 0.6, **draw.choice(({"unk_token": "<unk>"}, {}))))
    if draw.random() < 0.6:
        parts = [normalizers.Prepend("\u2581")] if draw.random() < 0.5 else []
        made.normalizer = normalizers.Sequence([*parts, normalizers.Replace(" ", "\u2581")])
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", draw.choice(("always", "first", "never")), draw.random() < 0.5)
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), *([decoders.Strip(" ", 1, 0)] if draw.random() < 0.5 else [])])
    tokens = [*SPECIALS, *(f"<0x{byte:02X}>" for byte in range(256))] if falls else SPECIALS
    return made, trainers.BpeTrainer(vocab_size=draw.choice((500, 900)), special_tokens=tokens, limit_alphabet=draw.choice((40, 90)), show_progress=False)


def drawn_parts(draw):
    """BPE with marks of parts of words, and other decoders."""
    prefix, suffix = draw.choice((("", "</w>"), ("##", ""), ("", "")))
    unknown = draw.choice(("[UNK]", None))
    given = {"unk_token": unknown, "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    made = Tokenizer(models.BPE(**{name: value for name, value in given.items() if value}, fuse_unk=draw.random() < 0.5))
    made.normalizer, made.pre_tokenizer = drawn_normalizer(draw), sequence(drawn_words(draw) or [pre_tokenizers.Whitespace()])
    made.decoder = decoders.BPEDecoder(suffix) if suffix else decoders.WordPiece("##", draw.random() < 0.5) if prefix else None
    return made, trainers.BpeTrainer(vocab_size=500, special_tokens=SPECIALS, show_progress=False, **{k: v for k, v in given.items() if v and k != "unk_token"})


def drawn_unigram(draw):
    made = Tokenizer(models.Unigram())
    made.normalizer = drawn_normalizer(draw)
    made.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", draw.choice(("always", "first", "never"))) if draw.random() < 0.7 else sequence(drawn_words(draw))
    made.decoder = decoders.Metaspace()
    return made, trainers.UnigramTrainer(vocab_size=draw.choice((2000, 3000)), unk_token="<unk>", special_tokens=SPECIALS, show_progress=False)


def drawn_pieces(draw):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=draw.choice((100, 100, 6))))
    made.normalizer = normalizers.BertNormalizer(lowercase=draw.random() < 0.5) if draw.random() < 0.6 else drawn_normalizer(draw)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer() if draw.random() < 0.6 else sequence(drawn_words(draw))
    made.decoder = decoders.WordPiece("##", draw.random() < 0.7)
    return made, trainers.WordPieceTrainer(vocab_size=400, special_tokens=SPECIALS, show_progress=False)


def drawn_level(draw):
    made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = drawn_normalizer(draw), sequence(drawn_words(draw) or [pre_tokenizers.Whitespace()])
    return made, trainers.WordLevelTrainer(vocab_size=300, special_tokens=SPECIALS, show_progress=False)


KINDS = {"bytes": drawn_bytes, "fallback": drawn_fallback, "parts": drawn_parts, "unigram": drawn_unigram, "pieces": drawn_pieces, "level": drawn_level}


def corpus(draw):
    pages = sorted((ROOT / "docs").glob("*.md"))
    lines = draw.choice(pages).read_text().splitlines()[:150] + draw.choice(pages).read_text().splitlines()[:150]
    return [*lines, *(random_text(draw) for _ in range(200))]


def drawn_tokenizer(draw, kind, small=False):
    made, trainer = KINDS[kind](draw)
    if small:
        trainer.vocab_size = 600 if kind in ("unigram", "fallback") else 320
    made.train_from_iterator([" ".join(PIECES), *PIECES] * 3 if small else corpus(draw), trainer)
    if kind == "unigram" and draw.random() < 0.3:  # trainers make none with bytes for unknown characters
        whole = json.loads(made.to_str())
        whole["model"]["byte_fallback"] = True
        whole["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
        made = Tokenizer.from_str(json.dumps(whole))
    flag = lambda: draw.random() < 0.3  # noqa: E731
    for content in draw.sample(["[MASK]", "<mask>", "w\u00f6rd", "hello", "World", "\u00c9", "  ", "<|tool|>", "the "], draw.choice((0, 1, 3))):
        token = AddedToken(content, single_word=flag(), lstrip=flag(), rstrip=flag(), normalized=flag(), special=flag())
        # A name of nothing is found between any two characters.
        if token.normalized and made.normalizer and not made.normalizer.normalize_str(content):
            continue
        made.add_special_tokens([token]) if token.special else made.add_tokens([token])
    begin = made.token_to_id("<s>")
    if draw.random() < 0.5:
        made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", begin)])
    return made


def small_model(vocabulary):
    """logits[t] of a token t; its cache is the tokens themselves."""
    table = numpy.arange(vocabulary, dtype=numpy.float32).reshape(-1, 1) / vocabulary
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["x"]),
        helper.make_node("Unsqueeze", ["x", "one"], ["new"]),
        helper.make_node("Concat", ["past_key_values.0.key", "new"], ["present.0.key"], axis=2),
        helper.make_node("MatMul", ["x", "row"], ["logits"]),
    ]
    value = helper.make_tensor_value_info
    inputs = [value("input_ids", 7, ["batch", "step"]), value("past_key_values.0.key", 1, ["batch", 1, "past", 1])]
    outputs = [value("logits", 1, ["batch", "step", vocabulary]), value("present.0.key", 1, ["batch", 1, "total", 1])]
    weights = [helper.make_tensor("table", 1, table.shape, table.ravel()), helper.make_tensor("row", 1, [1, vocabulary], table.ravel()),
               helper.make_tensor("one", 7, [1], [1])]  # fmt: skip
    graph = helper.make_graph(nodes, "small", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(tokenizer, folder):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    onnx.save(small_model(max(tokenizer.get_vocab(True).values()) + 1), str(folder / "model.onnx"))
