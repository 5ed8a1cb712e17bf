"""Decoders of transformers as GGUF files in f32: ARCHITECTURES, and write()."""

import dataclasses
import math
import typing

import numpy
from small_decoder import gguf_file

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "self_attn.qkv_proj": "attn_qkv", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}  # fmt: skip
#: Of mixtures of experts.
NAMES |= {"mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp", "block_sparse_moe.router": "ffn_gate_inp", "self_attn": "attn_sinks",
          "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.gate.moe_statics": "exp_probs_b", "shared_mlp.output_linear": "ffn_down_shexp",
          **{f"{stem}.{part}_proj": f"ffn_{part}_shexp" for stem in ("mlp.shared_expert", "mlp.shared_experts") for part in ("gate", "up", "down")}}  # fmt: skip
#: Of decoders with LayerNorm.
NAMES |= {"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_mlp": "attn_norm", "ln_attn": "attn_norm_2",
          "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", "mlp.dense_h_to_4h": "ffn_up",
          "mlp.dense_4h_to_h": "ffn_down", "self_attn.dense": "attn_output",
          **{f"{stem}.{part}": name for stem in ("attention", "self_attention") for part, name in (("query_key_value", "attn_qkv"), ("dense", "attn_output"))}}  # fmt: skip
TOP_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.final_layernorm": "output_norm",
             "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.word_embeddings": "token_embd",
             "transformer.ln_f": "output_norm", "transformer.word_embeddings_layernorm": "token_embd_norm", "transformer.norm_f": "output_norm",
             "backbone.embeddings": "token_embd", "backbone.norm_f": "output_norm", "model.embeddings": "token_embd", "model.norm_f": "output_norm",
             "model.embedding_norm": "token_embd_norm", "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm"}  # fmt: skip
LAYERS = ("transformer.h.", "transformer.blocks.", "gpt_neox.layers.")
#: Ends of names that are not .weight and .bias in files.
ENDS = {"sinks": ".weight", "alone": "", "e_score_correction_bias": ".bias"}
LATE = {"post_attention_layernorm": "post_attention_norm"}
#: Of those that normalise what a part of a layer gives.
AFTER = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
GLM = {"post_self_attn_layernorm": "post_attention_norm", "post_mlp_layernorm": "post_ffw_norm"}


@dataclasses.dataclass
class Architecture:
    """A row: what files call it, transformers' classes, and what its configuration (`more`) and the file (`values`) have besides."""

    name: str
    kind: str
    more: typing.Callable = lambda sizes: {}
    values: typing.Callable = lambda config: {}
    names: dict = dataclasses.field(default_factory=dict)
    config_kind: str = ""
    architecture: str = ""  # the name, if there is none
    pairs: bool = False  # rotary pairs are neighbours in files, halves apart in transformers
    adds_one: bool = False  # files hold what norms multiply by, transformers that less 1
    vectors: typing.Callable = lambda config: {}  # tensors that transformers has in its configuration
    in_llama: bool = True  # llama.cpp computes the same
    interleaved: bool = False  # gates and values of experts alternate, and their matrices are transposed
    head: str = "ForCausalLM"  # how transformers' class ends
    joined: bool = False  # one tensor has gates and values of experts
    shared_qkv: bool = False  # transformers keeps queries, keys and values of a key head together
    remade: typing.Callable = lambda state, config: state  # transformers' tensors, before they are named
    learned: typing.Callable = lambda state: {}  # values of the file that are parameters, under whole names
    first: int = 0  # transformers computes the same from this token on: shorter texts have other factors there

    @property
    def config(self):
        return f"{self.config_kind or self.kind}Config"

    @property
    def model(self):
        return self.kind + self.head


def layer_types(count, period):
    return ["full_attention" if i % period == period - 1 else "sliding_attention" for i in range(count)]


def sliding(period, layers, **more):
    """Windows of eight keys, in all layers but the last of `period`."""
    return {"num_hidden_layers": layers, "sliding_window": 8, "layer_types": layer_types(layers, period), **more}


def window(config):
    return {"attention.sliding_window": config.sliding_window}


def yarn(base, factor=4.0):
    return {"rope_type": "yarn", "rope_theta": base, "factor": factor, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0}


YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64}
SHORT, LONG = 1.25, 2.5  # what the first and the last of phi3's frequencies are divided by


def factors(config, most):
    half = (config.head_dim if getattr(config, "head_dim", None) else config.hidden_size // config.num_attention_heads) // 2
    return [float(x) for x in numpy.linspace(1.0, most, half)]


def longrope(sizes, context):
    half = sizes["hidden_size"] // sizes["num_attention_heads"] // 2
    lists = {f"{name}_factor": [float(x) for x in numpy.linspace(1.0, most, half)] for name, most in (("short", SHORT), ("long", LONG))}
    more = {"original_max_position_embeddings": context, "max_position_embeddings": 8 * context, "head_dim": None}
    return {**more, "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": context, "factor": 8.0, **lists}}


def long_values(config):
    context = config.original_max_position_embeddings
    return {"rope.scaling.original_context_length": context, "rope.scaling.attn_factor": math.sqrt(1 + math.log(8) / math.log(context))}


LONG_TENSORS = {"architecture": "phi3", "values": long_values,
                "vectors": lambda c: {"rope_factors_short.weight": factors(c, SHORT), "rope_factors_long.weight": factors(c, LONG)}}  # fmt: skip


def experts(count, used, **more):
    return {"num_local_experts": count, "num_experts": count, "n_routed_experts": count, "moe_num_experts": count, "num_experts_per_tok": used,
            "moe_k": used, "moe_intermediate_size": 32, **more}  # fmt: skip


def expert_values(count, used, hidden=32, **more):
    return {"expert_count": count, "expert_used_count": used, "expert_feed_forward_length": hidden, **more}


def scores(config):
    return {"expert_gating_func": 2, "expert_weights_norm": bool(config.norm_topk_prob), "expert_weights_scale": float(config.routed_scaling_factor),
            "leading_dense_block_count": 1, "expert_shared_count": config.n_shared_experts,
            "expert_shared_feed_forward_length": config.n_shared_experts * config.moe_intermediate_size}  # fmt: skip


def groups(config):
    return {"expert_group_count": config.n_group, "expert_group_used_count": config.topk_group}


def granite_values(config):
    return {"embedding_scale": config.embedding_multiplier, "logit_scale": config.logits_scaling, "residual_scale": config.residual_multiplier,
            "attention.scale": config.attention_multiplier}  # fmt: skip


GRANITE = {"embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.11, "head_dim": None}
SIGMOIDS = {"routed_scaling_factor": 2.5, "first_k_dense_replace": 1, "n_shared_experts": 2, "norm_topk_prob": True, "n_group": 1, "topk_group": 1}


def turned(config):
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return {"rope.dimension_count": int(size * config.rope_parameters["partial_rotary_factor"])}


def sections(config):
    """Of rotary pairs, by the axes of pictures; in texts all axes have one position."""
    third = (getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads) // 6 + 1
    return {"rope.dimension_sections": [third, third, third, 0]}


def like_gpt2(sizes, **more):
    return {"n_inner": sizes["intermediate_size"], "max_position_embeddings": 1024, "head_dim": None, "num_key_value_heads": sizes["num_attention_heads"], **more}


GEMMA = {"hidden_activation": "gelu_pytorch_tanh"}
ARCHITECTURES = (
    Architecture("llama", "Llama", lambda s: {"tie_word_embeddings": False}, pairs=True),
    Architecture("llama_yarn", "Llama", lambda s: {"rope_parameters": yarn(10000.0)}, lambda c: YARN, architecture="llama", pairs=True),
    Architecture("internlm2", "Llama", lambda s: {"tie_word_embeddings": False, "head_dim": None}, pairs=True),
    Architecture("exaone", "Llama", lambda s: {"tie_word_embeddings": True, "head_dim": None}),
    Architecture("qwen2", "Qwen2", lambda s: {"tie_word_embeddings": True, "rope_theta": 1e6, "head_dim": None}),
    Architecture("qwen3", "Qwen3", lambda s: {"tie_word_embeddings": False}),
    Architecture("gemma", "Gemma", lambda s: GEMMA, adds_one=True),
    Architecture("gemma2", "Gemma2", lambda s: sliding(2, 4, query_pre_attn_scalar=s["head_dim"], **GEMMA), window, AFTER, adds_one=True),
    Architecture("gemma3", "Gemma3", lambda s: sliding(6, 7, query_pre_attn_scalar=s["head_dim"], **GEMMA), window, AFTER, "Gemma3Text",
                 adds_one=True),
    Architecture("phi3", "Phi3", lambda s: {"head_dim": None, "partial_rotary_factor": 0.5, "tie_word_embeddings": True},
                 lambda c: {"rope.dimension_count": c.hidden_size // c.num_attention_heads // 2}),
    Architecture("phi3_short", "Phi3", lambda s: longrope(s, 2048), **LONG_TENSORS),
    Architecture("phi3_long", "Phi3", lambda s: longrope(s, 24), first=24, **LONG_TENSORS),
    Architecture("smollm3", "SmolLM3", lambda s: {"num_hidden_layers": 5, "head_dim": None}, pairs=True),
    Architecture("granite", "Granite", lambda s: GRANITE, granite_values, pairs=True),
    Architecture("minicpm", "Granite", lambda s: {**GRANITE, "attention_multiplier": (s["hidden_size"] // s["num_attention_heads"]) ** -0.5},
                 granite_values, pairs=True),
    Architecture("arcee", "Arcee", lambda s: {"head_dim": None}, pairs=True),
    Architecture("seed_oss", "SeedOss", lambda s: {"attention_bias": True, "attention_out_bias": False, "head_dim": None}, names=LATE),
    Architecture("qwen2vl", "Qwen2", lambda s: {"head_dim": None}, sections),
    Architecture("qwen3vl", "Qwen3", lambda s: {"tie_word_embeddings": False}, sections),
    Architecture("olmo2", "Olmo2", lambda s: {"head_dim": None}, names=AFTER),
    Architecture("olmo3", "Olmo3", lambda s: sliding(4, 5, head_dim=None), window, AFTER, architecture="olmo2"),
    Architecture("glm4", "Glm4", lambda s: {"attention_bias": True}, lambda c: {"rope.dimension_count": c.head_dim // 2}, GLM),
    Architecture("exaone4", "Exaone4", lambda s: sliding(4, 5, sliding_window_pattern=4, head_dim=None), window, AFTER, in_llama=False),
    Architecture("exaone4_small", "Exaone4", lambda s: {"sliding_window": None, "layer_types": ["full_attention"] * 3, "head_dim": None},
                 names=AFTER, architecture="exaone4"),
    Architecture("ernie4_5", "Ernie4_5"),
    Architecture("mixtral", "Mixtral", lambda s: {**experts(4, 2), "tie_word_embeddings": False, "sliding_window": None},
                 lambda c: {"expert_count": 4, "expert_used_count": 2}, architecture="llama", pairs=True),
    Architecture("qwen3moe", "Qwen3Moe", lambda s: experts(8, 3, norm_topk_prob=True, tie_word_embeddings=False), lambda c: expert_values(8, 3)),
    Architecture("qwen2moe", "Qwen2Moe",
                 lambda s: experts(8, 3, shared_expert_intermediate_size=64, norm_topk_prob=False, tie_word_embeddings=False, head_dim=None),
                 lambda c: expert_values(8, 3, expert_shared_feed_forward_length=64)),
    Architecture("olmoe", "Olmoe", lambda s: experts(8, 3, norm_topk_prob=False, tie_word_embeddings=False, head_dim=None, num_key_value_heads=s["num_attention_heads"]),
                 lambda c: {"expert_count": 8, "expert_used_count": 3}),
    Architecture("granitemoe", "GraniteMoe", lambda s: {**GRANITE, **experts(8, 3)},
                 lambda c: {**granite_values(c), "expert_count": 8, "expert_used_count": 3}, pairs=True),
    Architecture("granitemoe_shared", "GraniteMoeShared", lambda s: {**GRANITE, **experts(8, 3, shared_intermediate_size=64)},
                 lambda c: {**granite_values(c), "expert_count": 8, "expert_used_count": 3, "expert_shared_feed_forward_length": 64},
                 architecture="granitemoe", pairs=True),
    Architecture("dots1", "Dots1", lambda s: {**experts(8, 3, tie_word_embeddings=False, num_key_value_heads=s["num_attention_heads"]), **SIGMOIDS},
                 lambda c: {**expert_values(8, 3), **scores(c)}),
    Architecture("glm4moe", "Glm4Moe", lambda s: {**experts(8, 3, tie_word_embeddings=False, attention_bias=True), **SIGMOIDS},
                 lambda c: {**expert_values(8, 3), **scores(c), "rope.dimension_count": c.head_dim // 2}, LATE),
    Architecture("glm4moe_groups", "Glm4Moe", lambda s: {**experts(12, 3, tie_word_embeddings=False), **SIGMOIDS, "n_group": 4, "topk_group": 2},
                 lambda c: {**expert_values(12, 3), **scores(c), **groups(c), "rope.dimension_count": c.head_dim // 2}, LATE, architecture="glm4moe"),
    Architecture("bailingmoe2", "Glm4Moe", lambda s: {**experts(8, 2, use_qk_norm=True), **SIGMOIDS, "n_group": 4, "topk_group": 2, "n_shared_experts": 1},
                 lambda c: {**expert_values(8, 2), **scores(c), **groups(c), "rope.dimension_count": c.head_dim // 2},
                 in_llama=False),  # it wants queries, keys and values as one
    Architecture("qwen3moe_joined", "Qwen3Moe", lambda s: experts(8, 3, norm_topk_prob=True, tie_word_embeddings=False), lambda c: expert_values(8, 3),
                 architecture="qwen3moe", joined=True, in_llama=False),
    Architecture("ernie4_5-moe", "Ernie4_5_Moe", lambda s: experts(8, 3, moe_num_shared_experts=2, moe_layer_start_index=1, head_dim=None),
                 lambda c: expert_values(8, 3, leading_dense_block_count=1, interleave_moe_layer_step=1, expert_shared_count=2, expert_shared_feed_forward_length=64)),
    Architecture("gpt-oss", "GptOss",
                 lambda s: sliding(2, 4, **experts(8, 3), rope_parameters={**yarn(150000.0), "truncate": True}, tie_word_embeddings=False),
                 lambda c: {**window(c), **YARN, **expert_values(8, 3, c.intermediate_size)}, LATE, interleaved=True),
    Architecture("gpt2", "GPT2", like_gpt2, head="LMHeadModel"),
    Architecture("starcoder", "GPTBigCode", lambda s: like_gpt2(s, num_key_value_heads=1)),
    Architecture("starcoder2", "Starcoder2", lambda s: {"head_dim": None}),
    Architecture("phi2", "Phi", lambda s: {"head_dim": None}, turned),
    Architecture("gptneox", "GPTNeoX", lambda s: like_gpt2(s), lambda c: {**turned(c), "use_parallel_residual": True}, shared_qkv=True),
    Architecture("gptneox_in_turn", "GPTNeoX", lambda s: like_gpt2(s, use_parallel_residual=False, rotary_pct=0.5),
                 lambda c: {**turned(c), "use_parallel_residual": False}, architecture="gptneox", shared_qkv=True),
    Architecture("falcon", "Falcon", lambda s: {"ffn_hidden_size": s["intermediate_size"], "head_dim": None, "num_key_value_heads": 1}, shared_qkv=True),
    Architecture("falcon_40b", "Falcon", lambda s: {"ffn_hidden_size": s["intermediate_size"], "head_dim": None, "new_decoder_architecture": True,
                                                    "num_kv_heads": s["num_key_value_heads"]}, architecture="falcon", shared_qkv=True),
    Architecture("stablelm", "StableLm", lambda s: {"head_dim": None, "use_qkv_bias": True}, turned),
    Architecture("stablelm_parallel", "StableLm", lambda s: {"head_dim": None, "use_parallel_residual": True}, turned, architecture="stablelm"),
    Architecture("command-r", "Cohere", lambda s: {"head_dim": None}, lambda c: {"logit_scale": c.logit_scale}),
    Architecture("cohere2", "Cohere2", lambda s: sliding(4, 5, head_dim=s["hidden_size"] // s["num_attention_heads"]), lambda c: {"logit_scale": c.logit_scale, **window(c)}),
    Architecture("nemotron", "Nemotron", lambda s: {"head_dim": s["hidden_size"] // s["num_attention_heads"]}, turned, adds_one=True),
)  # fmt: skip


def gguf_name(row, key):
    stem, end = key.rsplit(".", 1)
    if stem in TOP_NAMES:
        return f"{TOP_NAMES[stem]}.{end}"
    _, _, layer, part = stem.split(".", 3)
    name = row.names.get(part) or NAMES[part]
    return f"blk.{layer}.{'exp_probs_b' if end in ENDS and 'bias' in end else name}{ENDS.get(end, '.' + end)}"


def halves(values, interleaved):
    """Gates and values of experts, which one matrix or bias holds."""
    half = values.shape[-2 if values.ndim == 3 else -1] // 2
    if values.ndim == 3:
        return (values[:, ::2], values[:, 1::2]) if interleaved else (values[:, :half], values[:, half:])
    return values[:, ::2], values[:, 1::2]


def named(row, key, values):
    """The file's tensors, with their names, of one of transformers'."""
    stem, end = key.rsplit(".", 1)
    at = ".".join(key.split(".")[1:3]).replace("layers", "blk")
    if stem.endswith(".experts"):
        if row.interleaved and values.ndim == 3:
            values = values.swapaxes(1, 2)
        kind = "bias" if end.endswith("_bias") else "weight"
        if end.startswith("down"):
            yield f"{at}.ffn_down_exps.{kind}", values
        elif end.startswith("up_proj"):
            yield f"{at}.ffn_up_exps.{kind}", values
        elif row.joined:
            yield f"{at}.ffn_gate_up_exps.{kind}", values
        else:
            yield from zip((f"{at}.ffn_{part}_exps.{kind}" for part in ("gate", "up")), halves(values, row.interleaved))
    elif stem.endswith("shared_mlp.input_linear"):
        yield from zip((f"{at}.ffn_{part}_shexp.weight" for part in ("gate", "up")), numpy.split(values, 2))
    else:
        to = gguf_name(row, key)
        yield to, values.reshape(-1) if "exp_probs_b" in to or "gate_inp_shexp" in to else values


def apart(values, config):
    """Queries of all heads, then keys, then values."""
    shares = config.num_attention_heads // config.num_key_value_heads
    by_head = values.reshape(config.num_key_value_heads, shares + 2, -1, *values.shape[1:])
    return numpy.concatenate([part.reshape(-1, *values.shape[1:]) for part in numpy.split(by_head, (shares, shares + 1), 1)])


def tensors(row, model, config):
    for name, values in row.vectors(config).items():
        yield name, 0, (len(values),), numpy.array(values, numpy.float32).tobytes()
    for key, weight in row.remade(model.state_dict(), config).items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        for stem in LAYERS:
            key = key.replace(stem, "model.layers.")
        for to, values in named(row, key, weight.numpy().astype(numpy.float32)):
            if row.head == "LMHeadModel" and to.startswith("blk.") and values.ndim == 2:
                values = numpy.ascontiguousarray(values.T)
            if row.shared_qkv and ".attn_qkv." in to:
                values = apart(values, config)
            if row.adds_one and to.endswith("norm.weight"):
                values = values + 1
            heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(to.split(".")[-2])
            if row.pairs and heads:
                values = values.reshape(heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
            yield to, 0, tuple(reversed(values.shape)), values.tobytes()


def rope_base(config):
    parameters = getattr(config, "rope_parameters", None) or {}
    parameters = parameters.get("full_attention", parameters)
    return float(getattr(config, "rope_theta", None) or parameters.get("rope_theta", 10000.0))


def write(row, model, config, path):
    sizes = {"block_count": "num_hidden_layers", "context_length": "max_position_embeddings", "embedding_length": "hidden_size",
             "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
             "attention.head_count_kv": "num_key_value_heads"}  # fmt: skip
    name = row.architecture or row.name
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    values = {key: getattr(config, value, None) or 0 for key, value in sizes.items()}
    values |= {"attention.key_length": size, "attention.value_length": size, "attention.layer_norm_rms_epsilon": next(float(getattr(config, name)) for name in ("layer_norm_epsilon", "norm_eps", "rms_norm_eps") if hasattr(config, name)),
               "attention.layer_norm_epsilon": 1e-5, "rope.freq_base": rope_base(config), "rope.dimension_count": size, **row.values(config)}  # fmt: skip
    tokenizer = {"model": "gpt2", "pre": "gpt-2", "merges": ["a b"], "tokens": [f"t{i}" for i in range(config.vocab_size)]}
    path.write_bytes(gguf_file({"general.architecture": name, **row.learned(model.state_dict()), **{f"{name}.{key}": value for key, value in values.items()},
                                **{f"tokenizer.ggml.{key}": value for key, value in tokenizer.items()}}, tensors(row, model, config)))  # fmt: skip
