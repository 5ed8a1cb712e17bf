"""More rows of decoder_files.py: positions that add to scores, latent attention, norms of single heads."""

import math
import re

import torch
from decoder_files import SIGMOIDS, YARN, Architecture, expert_values, experts, groups, like_gpt2, scores, sliding, turned, window, yarn

HEAD_NORMS = {"self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm"}
LATENT_NAMES = {"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b", "self_attn.k_b": "attn_k_b",
                "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
                "self_attn.v_b": "attn_v_b"}  # fmt: skip
MPT_NAMES = {"norm_1": "attn_norm", "norm_2": "ffn_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down"}
LLAMA4 = {"feed_forward.router": "ffn_gate_inp", **{f"feed_forward.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")},
          **{f"feed_forward.shared_expert.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")}}  # fmt: skip
HUNYUAN_MOE = {"mlp.gate.wg": "ffn_gate_inp", **{f"mlp.shared_mlp.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")}}


def latent(sizes, **more):
    return {"q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "head_dim": None,
            "num_key_value_heads": sizes["num_attention_heads"], **more}  # fmt: skip


def latent_values(config):
    size = config.qk_nope_head_dim + config.qk_rope_head_dim
    return {"attention.q_lora_rank": config.q_lora_rank, "attention.kv_lora_rank": config.kv_lora_rank, "attention.key_length": size,
            "attention.value_length": config.v_head_dim, "rope.dimension_count": config.qk_rope_head_dim}  # fmt: skip


def absorbed_values(config):
    values = latent_values(config)
    rank = config.kv_lora_rank
    return {**values, "attention.head_count_kv": 1, "attention.key_length": rank + config.qk_rope_head_dim, "attention.value_length": rank,
            "attention.key_length_mla": values["attention.key_length"], "attention.value_length_mla": config.v_head_dim}  # fmt: skip


def absorbed(state, config):
    """One matrix for each head, of keys (transposed) and of values, instead of one for all."""
    made = {}
    for key, weight in state.items():
        if not key.endswith("kv_b_proj.weight"):
            made[key] = weight
            continue
        by_head = weight.reshape(config.num_attention_heads, -1, config.kv_lora_rank)
        keys, values = by_head.split([config.qk_nope_head_dim, config.v_head_dim], 1)
        made[key.replace("kv_b_proj", "k_b")] = keys.transpose(1, 2).contiguous()
        made[key.replace("kv_b_proj", "v_b")] = values.contiguous()
    return made


def heads_as_one(state, config):
    """Norms of single heads as rows of one tensor."""
    made, rows = {}, {}
    for key, weight in state.items():
        found = re.fullmatch(r"(.*\.self_attn\.)([qk])_layernorm\.norms\.(\d+)\.weight", key)
        if found:
            rows.setdefault(f"{found[1]}{found[2]}_norm.weight", []).append(weight)
        else:
            made[key] = weight
    return {**made, **{key: torch.stack(parts) for key, parts in rows.items()}}


def activations(state):
    """The numbers of each layer's activation."""
    return {f"xielu.{name}": [float(value) for key, value in state.items() if key.endswith(f".act_fn.{name}")] for name in ("alpha_p", "alpha_n", "beta", "eps")}


def llama3_factors(config):
    """What the frequencies of positions are divided by, as transformers' llama3 stretches them."""
    how, size = config.rope_parameters, config.hidden_size // config.num_attention_heads
    divisors = []
    for pair in range(size // 2):
        turns = how["original_max_position_embeddings"] / (2 * math.pi * how["rope_theta"] ** (2 * pair / size))
        stays = min(max((turns - how["low_freq_factor"]) / (how["high_freq_factor"] - how["low_freq_factor"]), 0), 1)
        divisors.append(1 / (stays + (1 - stays) / how["factor"]))
    return divisors


def sloped(sizes, **more):
    """As files and both engines agree about slopes of counts of heads that are powers of two."""
    heads = 4 if sizes["num_attention_heads"] == 6 else sizes["num_attention_heads"]
    return {"hidden_size": 24 * heads, "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": None, **more}


def like_mpt(sizes):
    made = sloped(sizes)
    return {**made, "d_model": made["hidden_size"], "n_heads": made["num_attention_heads"], "n_layers": 3, "intermediate_size": 4 * made["hidden_size"],
            "max_seq_len": 256, "attn_config": {"clip_qkv": 0.8}}  # fmt: skip


def latent_yarn(sizes):
    return {**yarn(10000.0), "mscale": 0.7, "mscale_all_dim": 0.7}


def latent_yarn_values(config):
    return {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64, "rope.scaling.yarn_log_multiplier": 0.07}


V2 = {"first_k_dense_replace": 1, "n_shared_experts": 2, "routed_scaling_factor": 1.5, "n_group": 1, "topk_group": 1, "topk_method": "greedy", "norm_topk_prob": False,
      "tie_word_embeddings": False}  # fmt: skip
V3 = {**SIGMOIDS, "n_group": 4, "topk_group": 2, "tie_word_embeddings": False}
def norms_in_pairs(state, config):
    """Norms of turned heads, in the order of files whose pairs are neighbours."""
    return {k: v.reshape(2, -1).T.reshape(-1) if k.endswith(("query_layernorm.weight", "key_layernorm.weight")) else v for k, v in state.items()}


AFMOE_NAMES = {"mlp.router.gate": "ffn_gate_inp", "self_attn.gate_proj": "attn_gate", "pre_mlp_layernorm": "ffn_norm", "post_mlp_layernorm": "post_ffw_norm",
               "post_attention_layernorm": "post_attention_norm", "mlp": "exp_probs_b"}  # fmt: skip
DBRX_NAMES = {"norm_attn_norm.norm_1": "attn_norm", "norm_attn_norm.norm_2": "attn_output_norm", "norm_attn_norm.attn.Wqkv": "attn_qkv",
              "norm_attn_norm.attn.out_proj": "attn_output", "ffn.router.layer": "ffn_gate_inp",
              **{f"ffn.experts.mlp.{part}": f"ffn_{name}_exps" for part, name in (("w1", "gate"), ("v1", "up"), ("w2", "down"))}}  # fmt: skip


def like_dbrx(sizes):
    heads = sizes["num_attention_heads"]
    return {"d_model": sizes["hidden_size"], "n_heads": heads, "n_layers": 3, "max_seq_len": 256, "head_dim": None, "num_experts_per_tok": 3,
            "attn_config": {"kv_n_heads": sizes["num_key_value_heads"], "clip_qkv": 0.8, "rope_theta": 10000.0},
            "ffn_config": {"hidden_size": sizes["hidden_size"], "ffn_hidden_size": 64, "moe_num_experts": 8, "moe_top_k": 3, "ffn_act_fn": {"name": "silu"}}}  # fmt: skip


def dbrx_remade(state, config):
    """Matrices of experts that one matrix holds; the last of each is transposed."""
    made = {}
    for key, weight in state.items():
        if ".experts.mlp." in key:
            weight = weight.reshape(8, 64, -1)
            made[f"{key}.weight"] = weight.transpose(1, 2).contiguous() if key.endswith("w2") else weight
        else:
            made[key] = weight
    return made


def deci_values(config):
    """The second layer does not attend, the third is none, and the fourth is narrower."""
    heads, keys, hidden = config.num_attention_heads, config.num_key_value_heads, config.intermediate_size
    return {"attention.head_count": [heads, 0, 0, heads], "attention.head_count_kv": [keys, 0, 0, keys], "feed_forward_length": [hidden, hidden, 0, hidden - 32]}


def deci_remade(state, config):
    """A part that is not there is one that adds 0, in transformers' network, too."""
    made, most = dict(state), config.intermediate_size - 32
    for layer, parts in ((1, ("self_attn.o_proj",)), (2, ("self_attn.o_proj", "mlp.down_proj"))):
        for part in parts:
            state[f"model.layers.{layer}.{part}.weight"].zero_()
    state["model.layers.3.mlp.down_proj.weight"][:, most:] = 0
    for key in state:
        if key.startswith(("model.layers.1.self_attn", "model.layers.1.input_layernorm", "model.layers.2.")):
            del made[key]
        elif key.startswith("model.layers.3.mlp."):
            made[key] = (state[key][:, :most] if "down" in key else state[key][:most]).contiguous()
    return made


HY_NAMES = {"mlp": "exp_probs_b", "mlp.gate": "ffn_gate_inp", **{f"mlp.shared_experts.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")}}


LATER = (
    Architecture("deci", "Llama", lambda s: {"num_hidden_layers": 4, "tie_word_embeddings": False, "head_dim": None}, deci_values, pairs=True, remade=deci_remade),
    Architecture("hy_v3", "HYV3", lambda s: experts(8, 3, num_shared_experts=1, router_scaling_factor=2.5, mlp_layer_types=["dense", "sparse", "sparse"]),
                 lambda c: {**expert_values(8, 3), "expert_weights_norm": True, "expert_weights_scale": 2.5}, HY_NAMES,
                 remade=lambda s, c: {k.replace("e_score_correction_bias", "alone"): v for k, v in s.items()}),
    Architecture("mellum", "Mellum", lambda s: {**sliding(4, 5), **experts(8, 3), "rope_parameters": {
        "full_attention": {**yarn(50000.0), "truncate": True}, "sliding_attention": {"rope_type": "default", "rope_theta": 50000.0}}},
                 lambda c: {**window(c), **YARN, **expert_values(8, 3), "attention.sliding_window_pattern": 4}),
    Architecture("exaone-moe", "ExaoneMoe", lambda s: {**sliding(4, 5, sliding_window_pattern=4), **experts(8, 3), **SIGMOIDS, "num_shared_experts": 2},
                 lambda c: {**window(c), "attention.sliding_window_pattern": [True, True, True, False, True], **expert_values(8, 3), **scores(c)}),
    Architecture("afmoe", "Afmoe", lambda s: {**sliding(4, 5, global_attn_every_n_layers=4), **experts(8, 3), "num_dense_layers": 1, "num_shared_experts": 2,
                                              "route_scale": 2.5, "mup_enabled": True, "tie_word_embeddings": False},
                 lambda c: {**window(c), **expert_values(8, 3), "leading_dense_block_count": 1, "expert_shared_count": 2, "expert_gating_func": 2,
                            "expert_weights_norm": True, "expert_weights_scale": 2.5}, AFMOE_NAMES,
                 remade=lambda s, c: {k.replace("expert_bias", "e_score_correction_bias"): v for k, v in s.items()}),
    Architecture("dbrx", "Dbrx", like_dbrx, lambda c: {"attention.clamp_kqv": 0.8, "expert_count": 8, "expert_used_count": 3, "feed_forward_length": 64,
                                                       "attention.head_count_kv": c.attn_config.kv_n_heads}, DBRX_NAMES, remade=dbrx_remade),
    Architecture("maincoder", "HunYuanDenseV1", names=HEAD_NORMS, pairs=True, remade=norms_in_pairs),
    Architecture("bloom", "Bloom", lambda s: {"n_layer": 3, "n_head": s["num_attention_heads"], "intermediate_size": 4 * s["hidden_size"], "head_dim": None,
                                              "num_key_value_heads": s["num_attention_heads"]}, shared_qkv=True),
    Architecture("mpt", "Mpt", like_mpt, lambda c: {"attention.clamp_kqv": 0.8, "attention.max_alibi_bias": 8.0}, MPT_NAMES),
    Architecture("olmo", "Olmo", lambda s: {"head_dim": None, "clip_qkv": 1.2}, lambda c: {"attention.clamp_kqv": 1.2}, pairs=True),
    Architecture("chatglm", "Glm", lambda s: {"attention_bias": True, "head_dim": s["hidden_size"] // s["num_attention_heads"]}, turned),
    Architecture("xverse", "Llama", lambda s: {"tie_word_embeddings": False, "head_dim": None}, pairs=True),
    Architecture("baichuan", "Llama", lambda s: {"tie_word_embeddings": False, "head_dim": None}, pairs=True, in_llama=False),  # it wants 32 layers
    Architecture("pangu-embedded", "Llama", lambda s: {"attention_bias": True, "tie_word_embeddings": False, "head_dim": None}),
    Architecture("orion", "StableLm", lambda s: {"head_dim": None, "partial_rotary_factor": 1.0}),
    Architecture("codeshell", "Starcoder2", lambda s: {"head_dim": None}, in_llama=False),  # it wants queries, keys and values as one
    Architecture("hunyuan-dense", "HunYuanDenseV1", names=HEAD_NORMS),
    Architecture("hunyuan-moe", "HunYuanMoEV1", lambda s: experts(8, 3, moe_topk=3, attention_bias=False),
                 lambda c: expert_values(8, 3, c.intermediate_size, expert_shared_feed_forward_length=c.intermediate_size), {**HEAD_NORMS, **HUNYUAN_MOE}),
    Architecture("minimax-m2", "MiniMaxM2", lambda s: experts(8, 3, rotary_dim=s["head_dim"] // 2, tie_word_embeddings=False),
                 lambda c: {**expert_values(8, 3, c.intermediate_size), "expert_gating_func": 2, **turned(c)}, {"mlp": "exp_probs_b"}),
    Architecture("mistral3", "Ministral3",
                 lambda s: {"rope_parameters": {**yarn(10000.0), "original_max_position_embeddings": 16, "mscale": 1.0, "mscale_all_dim": 1.0,
                                                "llama_4_scaling_beta": 0.3}, "tie_word_embeddings": False, "sliding_window": None},
                 lambda c: {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16,
                            "rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.3}, pairs=True),
    Architecture("stablelm_heads", "StableLm", lambda s: {"head_dim": None, "qk_layernorm": True, "use_parallel_residual": True}, turned, architecture="stablelm",
                 remade=heads_as_one),
    Architecture("command-r_heads", "Cohere", lambda s: {"head_dim": None, "use_qk_norm": True}, lambda c: {"logit_scale": c.logit_scale}, architecture="command-r",
                 in_llama=False),  # it wants 64 layers
    Architecture("deepseek2", "DeepseekV2", lambda s: {**experts(8, 3), **latent(s), **V2},
                 lambda c: {**latent_values(c), **expert_values(8, 3), **scores(c), "expert_gating_func": 1}, LATENT_NAMES),
    Architecture("deepseek2_small", "DeepseekV2", lambda s: {**experts(8, 3), **latent(s, q_lora_rank=None), **V2, "rope_parameters": latent_yarn(s)},
                 lambda c: {**absorbed_values(c), **expert_values(8, 3), **scores(c), **latent_yarn_values(c), "expert_gating_func": 1}, LATENT_NAMES,
                 architecture="deepseek2", remade=absorbed, in_llama=False),  # it wants 27 layers
    Architecture("deepseek2_absorbed", "DeepseekV3", lambda s: {**experts(12, 3), **latent(s), **V3, "rope_parameters": latent_yarn(s)},
                 lambda c: {**absorbed_values(c), **expert_values(12, 3), **scores(c), **groups(c), **latent_yarn_values(c)}, LATENT_NAMES,
                 architecture="deepseek2", remade=absorbed),
    Architecture("apertus", "Apertus", lambda s: {"tie_word_embeddings": False, "head_dim": None},
                 names={"attention_layernorm": "attn_norm", "feedforward_layernorm": "ffn_norm"}, learned=activations,
                 vectors=lambda c: {"rope_freqs.weight": llama3_factors(c)},
                 remade=lambda s, c: {k: v for k, v in s.items() if ".act_fn." not in k}),
    Architecture("bitnet", "BitNet", lambda s: {"head_dim": s["hidden_size"] // s["num_attention_heads"]}, lambda c: {"hidden_act": "relu2"},
                 {"self_attn.attn_sub_norm": "attn_sub_norm", "mlp.ffn_sub_norm": "ffn_sub_norm"}, in_llama=False),  # it knows one activation
    Architecture("llama4", "Llama4", lambda s: {**experts(4, 1), "num_hidden_layers": 5, "intermediate_size": 32, "intermediate_size_mlp": s["intermediate_size"],
                                                "interleave_moe_layer_step": 2, "tie_word_embeddings": False},
                 lambda c: {**expert_values(4, 1), "interleave_moe_layer_step": 2, "feed_forward_length": c.intermediate_size_mlp}, LLAMA4, "Llama4Text",
                 remade=lambda s, c: {k: v.transpose(1, 2).contiguous() if v.ndim == 3 else v for k, v in s.items()}),
    Architecture("jais2", "Jais2", lambda s: {"head_dim": None, "tie_word_embeddings": False}),
    Architecture("minicpm3", "MiniCPM3", lambda s: latent(s, scale_emb=12, scale_depth=1.4, dim_model_base=256, tie_word_embeddings=True),
                 latent_values, LATENT_NAMES),
)  # fmt: skip
