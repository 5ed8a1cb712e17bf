"""Decoders that seeds draw, for exported_decoders --random: architectures, sizes, batches, padding before prompts."""

import random

import built_models
import decoder_exports

ENDS, ENCODED = decoder_exports.ENDS, decoder_exports.ENCODED


def mixed(draw, given):
    """Sizes of models that name them in other ways."""
    heads, width = given["num_attention_heads"], given["hidden_size"]
    return {"vocab_size": 101, "n_head": heads, "n_embd": width, "n_layer": 2, "n_positions": 256, "n_inner": given["intermediate_size"],
            "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip


def sequences(draw, given):
    heads, size = given["num_attention_heads"], given["head_dim"]
    return {**ENDS, "vocab_size": 101, "d_model": heads * size, "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": heads,
            "decoder_attention_heads": heads, "encoder_ffn_dim": 64, "decoder_ffn_dim": given["intermediate_size"], "max_position_embeddings": 128,
            "max_source_positions": ENCODED, "max_target_positions": 128, "num_mel_bins": 16}  # fmt: skip


def t5(draw, given):
    return {**ENDS, "vocab_size": 101, "d_model": given["hidden_size"], "d_kv": given["head_dim"], "d_ff": given["intermediate_size"], "num_layers": 2,
            "num_heads": given["num_attention_heads"], "feed_forward_proj": draw.choice(("relu", "gated-gelu")),
            "tie_word_embeddings": draw.random() < 0.5}  # fmt: skip


def window(draw, given):
    return {"sliding_window": draw.choice((None, 6, 20))}


# architecture -> (class of transformers, what its configuration has), besides those of built_models
MORE = {
    "gpt2": ("GPT2LMHeadModel", mixed, False), "gpt_neox": ("GPTNeoXForCausalLM", lambda d, g: {"rotary_pct": d.choice((0.25, 1.0))}, True),
    "starcoder2": ("Starcoder2ForCausalLM", window, True), "stablelm": ("StableLmForCausalLM", lambda d, g: {"partial_rotary_factor": 0.25}, True),
    "cohere": ("CohereForCausalLM", lambda d, g: {"logit_scale": 0.5, "use_qk_norm": d.random() < 0.5}, True),
    "olmo2": ("Olmo2ForCausalLM", lambda d, g: {}, True), "exaone4": ("Exaone4ForCausalLM", lambda d, g: {"sliding_window": None, "layer_types": ["full_attention"] * 2}, True),
    "opt": ("OPTForCausalLM", lambda d, g: {"ffn_dim": 96, "word_embed_proj_dim": g["hidden_size"], "do_layer_norm_before": True}, True),
    "whisper": ("WhisperForConditionalGeneration", sequences, False), "marian": ("MarianMTModel", sequences, False),
    "bart": ("BartForConditionalGeneration", sequences, False), "mbart": ("MBartForConditionalGeneration", sequences, False),
    "m2m": ("M2M100ForConditionalGeneration", sequences, False), "pegasus": ("PegasusForConditionalGeneration", sequences, False),
    "t5": ("T5ForConditionalGeneration", t5, False), "mt5": ("MT5ForConditionalGeneration", t5, False),
}  # fmt: skip
# Heads of these are as wide as their layers over their number.
FIXED_SIZE = {*built_models.FIXED_SIZE, "gpt2", "gpt_neox", "starcoder2", "stablelm", "cohere", "olmo2", "exaone4", "opt", "t5"}
NAMES = [*(name for name in built_models.KINDS if name not in ("gptoss", "phi3long")), *MORE]


def values_of(name, draw):
    """Class, configuration."""
    given = built_models.sizes(draw, name)
    if name in FIXED_SIZE:
        given["hidden_size"] = given["num_attention_heads"] * given["head_dim"]
    if name in MORE:
        kind, more, has_sizes = MORE[name]
        values = {**(given if has_sizes else {}), **more(draw, given)}
    else:
        kind, more = built_models.KINDS[name]
        kind, values = f"{kind}ForCausalLM", {**given, **more(draw, given)}
    if name in FIXED_SIZE:
        values.pop("head_dim", None)
    if name in ("gpt_neox", "opt"):  # heads of keys are those of queries
        values.pop("num_key_value_heads")
    return kind, values


def drawn(seed, exporters):
    """A line, a function that makes the Export, and the exporter."""
    draw = random.Random(seed)
    name, exporter = draw.choice(NAMES), draw.choice(exporters)
    kind, values = values_of(name, draw)
    pads = [0] * draw.choice((1, 1, 2, 3))
    if name not in MORE or MORE[name][2] or name == "gpt2":
        pads = [draw.choice((0, 0, 1, 3)) for _ in pads]
    attention = "sdpa" if exporter == "dynamo" and name != "gemma2" else "eager"
    about = ", ".join(f"{key} {values[key]}" for key in ("num_attention_heads", "num_key_value_heads", "head_dim", "sliding_window", "rope_parameters")
                      if key in values)  # fmt: skip
    make = lambda: decoder_exports.Export(name, attention, {"kinds": {name: (kind, values)}}, pads, seed)  # noqa: E731
    return f"{seed} {name} by {exporter} ({about}; padding {pads})", make, exporter
