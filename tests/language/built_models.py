"""Small decoders of random weights, whose sizes are drawn, as the model builder of onnxruntime-genai writes them."""

import contextlib
import importlib.util
import io
import pathlib
import sys
import warnings

import numpy
import torch
import transformers

TOKENS = 101  # no width of anything else: the builder takes matrices with as many rows for the last one
# architecture -> (class of transformers, what its configuration has besides the sizes that sizes() draws)
KINDS = {
    "llama": ("Llama", lambda d, s: {"tie_word_embeddings": d.random() < 0.5, **ropes(d)}),
    "mistral": ("Mistral", lambda d, s: {"sliding_window": d.choice((None, 6, 20))}),
    "qwen2": ("Qwen2", lambda d, s: {"tie_word_embeddings": d.random() < 0.5, "rope_theta": 1e6}),
    "qwen3": ("Qwen3", lambda d, s: {"tie_word_embeddings": d.random() < 0.5}),
    "gemma": ("Gemma", lambda d, s: {"hidden_activation": "gelu_pytorch_tanh"}),
    "gemma2": ("Gemma2", lambda d, s: {"hidden_activation": "gelu_pytorch_tanh", "sliding_window": d.choice((6, 20)), "query_pre_attn_scalar": 24}),
    "gemma3": ("Gemma3", lambda d, s: {"hidden_activation": "gelu_pytorch_tanh", "sliding_window": d.choice((6, 20)), "query_pre_attn_scalar": 24,
                                       "num_hidden_layers": 6}),
    "phi": ("Phi", lambda d, s: {"partial_rotary_factor": 0.5}),
    "phi3": ("Phi3", lambda d, s: {"tie_word_embeddings": False, "sliding_window": d.choice((None, 20)), "original_max_position_embeddings": 256}),
    "phi3long": ("Phi3", lambda d, s: longrope(d, s)),
    "olmo": ("Olmo", lambda d, s: {"clip_qkv": d.choice((None, 0.5))}),
    "granite": ("Granite", lambda d, s: {"embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.11}),
    "nemotron": ("Nemotron", lambda d, s: {"hidden_act": "relu2", "partial_rotary_factor": 0.5}),
    "smollm3": ("SmolLM3", lambda d, s: {"num_hidden_layers": 4, "tie_word_embeddings": d.random() < 0.5, "no_rope_layers": [1, 1, 1, 1]}),
    "ernie": ("Ernie4_5", lambda d, s: {}),
    "gptoss": ("GptOss", lambda d, s: {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": d.choice((6, 20)), "layer_types": None}),
}  # fmt: skip
FIXED_SIZE = {"phi", "phi3", "phi3long", "nemotron", "olmo", "granite"}  # heads are as wide as the layers over their number


def ropes(draw):
    if draw.random() < 0.5:
        return {}
    return {"rope_parameters": draw.choice((
        {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 64},
        {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
        {"rope_type": "default", "rope_theta": 500000.0}))}  # fmt: skip


def longrope(draw, given):
    half, context = given["hidden_size"] // given["num_attention_heads"] // 2, draw.choice((24, 4096))
    lists = {f"{name}_factor": [float(x) for x in numpy.linspace(1.0, most, half)] for name, most in (("short", 1.25), ("long", 2.5))}
    return {"tie_word_embeddings": False, "original_max_position_embeddings": context, "max_position_embeddings": 8 * context, "sliding_window": None,
            "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": context, "factor": 8.0, **lists}}  # fmt: skip


def sizes(draw, kind):
    heads, size = draw.choice((1, 2, 3, 4, 6, 8)), draw.choice((32, 64) if kind in ("phi", "nemotron") else (16, 32, 48, 64))
    keys = draw.choice([n for n in (1, 2, 3, 4, 8) if heads % n == 0])
    width = heads * size if kind in FIXED_SIZE else heads * 32
    return {"vocab_size": TOKENS, "hidden_size": width, "intermediate_size": 32 * draw.randrange(2, 8), "num_hidden_layers": 2, "num_attention_heads": heads,
            "num_key_value_heads": keys, "head_dim": size, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "pad_token_id": 0, "bos_token_id": 1,
            "eos_token_id": 2}  # fmt: skip


def options(draw, kind, config):
    """Precision and options of the builder."""
    precision = draw.choice(("fp32",) if kind == "gptoss" else ("fp32", "int4", "int4", "int8", "fp16"))
    more = {}
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    widths = (config.hidden_size, config.intermediate_size, config.num_attention_heads * size)
    if precision.startswith("int"):
        more = {"accuracy_level": draw.choice((0, 1, 4)), "block_size": draw.choice([n for n in (16, 32, 64, 128) if all(width % n == 0 for width in widths)]), "is_symmetric": draw.choice(("true", "false"))}
        if precision == "int4":
            more["algo_config"] = draw.choice(("default", "rtn", "k_quant", "k_quant_mixed", "k_quant_last", "rtn_last"))
            more["use_qdq"] = draw.choice(("true", "false", "false")) if more["algo_config"] in ("default", "rtn") and not config.tie_word_embeddings else "false"
    for name in ("fuse_qkv", *(("fuse_mlp_gate_up",) if kind not in ("nemotron", "phi") else ()), "prune_lm_head", "include_hidden_states"):
        if draw.random() < 0.25:
            more[name] = "true"
    if kind in ("gemma2", "gemma3", "gptoss", "mistral", "phi3") and draw.random() < 0.4:
        more["windowed_kv_cache"] = "false"
    if kind in ("qwen3", "gemma3") and draw.random() < 0.5:
        more["fuse_qk_norm_gqa"] = "true"
    return precision, more


def find_builder():
    """The module, which is a program of the package that is not imported for it."""
    found = importlib.util.find_spec("onnxruntime_genai")
    if not found:
        raise ModuleNotFoundError(name="onnxruntime_genai")
    sys.path.insert(0, str(pathlib.Path(found.submodule_search_locations[0], "models")))
    import builder

    return builder


def save_network(kind, draw, folder):
    """The files that the builder reads."""
    name, more = KINDS[kind]
    given = sizes(draw, kind)
    values = {**given, **more(draw, given)}
    if kind in FIXED_SIZE:
        values.pop("head_dim")
    if kind == "gptoss":
        values.pop("layer_types")
    config = getattr(transformers, name + ("TextConfig" if kind == "gemma3" else "Config"))(**values)
    torch.manual_seed(draw.randrange(1 << 30))
    network = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            if weight.ndim == 1:
                weight.add_(0.2 * torch.randn_like(weight))
            else:
                weight.normal_(0, weight.shape[-1] ** -0.5)
    network.save_pretrained(folder)
    import tokenizers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(TOKENS)}, unk_token="w0"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="w1", eos_token="w2", pad_token="w0").save_pretrained(folder)
    return config


def mend(kind, config):
    """Where the builder expects what earlier versions of transformers had."""
    if kind == "phi3long":
        config.rope_parameters["type"] = "longrope"
    if kind == "gemma3":
        config.rope_local_base_freq = 10000.0
        config.rope_parameters = {"rope_type": "default", "rope_theta": 1e6}


def build(builder, kind, draw, folder):
    """Writes folder/built/model.onnx; what it was built of, as a line."""
    config = save_network(kind, draw, folder / "network")
    precision, more = options(draw, kind, config)
    device = draw.choice(("cpu", "cpu", "webgpu", "cuda", "dml"))
    if device != "cpu":
        more.pop("include_hidden_states", None)
    about = {k: getattr(config, k, None) for k in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim",
                                                    "tie_word_embeddings", "sliding_window", "rope_parameters")}  # fmt: skip
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = ["", str(folder / "network"), str(folder / "built"), precision, device, str(folder / "cache")]
        given = builder.parse_extra_options(*words, [f"{key}={value}" for key, value in more.items()])
        mend(kind, given["hf_details"]["hf_config"])
        yield f"{kind} {precision} {device} {more} {about}", getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        builder.create_model(*words, **given)
    yield None
