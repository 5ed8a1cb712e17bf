"""More rows of decoder_files.py: decoders whose layers keep a state in the place of keys and values, or beside them."""

import numpy
import torch
from decoder_files import GRANITE, SIGMOIDS, Architecture, expert_values, experts, granite_values, scores, turned

MIXER = {"in_proj": "ssm_in", "out_proj": "ssm_out", "conv1d": "ssm_conv1d", "norm": "ssm_norm", "x_proj": "ssm_x", "dt_proj": "ssm_dt",
         "A": "ssm_a", "D": "ssm_d", "dt": "ssm_dt"}  # fmt: skip
OWN = {"A_log": "A.alone", "D": "D.alone", "dt_bias": "dt.bias"}


def mixer(stem, **more):
    return {**{f"{stem}.{part}": name for part, name in MIXER.items()}, **more}


def recurrent(state, groups=1, heads=0):
    """Parameters as files have them: decays instead of their logarithms, convolutions without an axis, norms in groups."""
    made = {}
    for key, weight in state.items():
        stem, end = key.rsplit(".", 1)
        if end == "A_log":
            weight = -weight.exp()
        if end in ("A_log", "D") and weight.ndim == 1 and heads:
            weight = weight.reshape(-1, 1)
        if stem.endswith(("conv1d", "conv.conv")) and weight.ndim == 3:
            weight = weight.squeeze(1)
        if stem.endswith(("mixer.norm", "mamba.norm")):
            weight = weight.reshape(groups, -1)
        made[f"{stem}.{OWN.get(end, end)}"] = weight
    return made


def ssm(config, inner, size, heads, groups=1, taps=4):
    return {"ssm.conv_kernel": taps, "ssm.inner_size": inner, "ssm.state_size": size, "ssm.time_step_rank": heads, "ssm.group_count": groups}


def like_mamba(sizes, **more):
    return {"state_size": 11, "time_step_rank": 6, "intermediate_size": 2 * sizes["hidden_size"], "head_dim": None, **more}


def mamba_values(config):
    return {**ssm(config, config.intermediate_size, config.state_size, config.time_step_rank, taps=config.conv_kernel), **NOTHING}


NOTHING = {"attention.head_count": 0, "attention.head_count_kv": 0, "feed_forward_length": 0}


def like_mamba2(sizes, groups):
    width = sizes["hidden_size"] // 8 * 8
    return {"state_size": 12, "hidden_size": width, "num_heads": 8, "head_dim": width // 4, "n_groups": groups, "expand": 2, "intermediate_size": None}


def mamba2_values(config):
    return {**ssm(config, config.num_heads * config.head_dim, config.state_size, config.num_heads, config.n_groups), **NOTHING}


def beside(sizes, **more):
    """Mamba 2 as models of several kinds of layers call it."""
    return {"mamba_n_heads": 8, "mamba_d_head": sizes["hidden_size"] // 4, "mamba_d_state": 12, "mamba_expand": 2, "mamba_d_ssm": 2 * sizes["hidden_size"],
            "hidden_size": sizes["hidden_size"], **more}  # fmt: skip


def beside_values(config):
    return ssm(config, config.mamba_n_heads * config.mamba_d_head, config.mamba_d_state, config.mamba_n_heads, config.mamba_n_groups)


def key_heads(config, attends):
    return {"attention.head_count_kv": [config.num_key_value_heads if one else 0 for one in attends]}


def granite_remade(state, config):
    made = recurrent(state, heads=config.mamba_n_heads)
    if config.num_local_experts:
        return made
    parts = {}
    for key, weight in made.items():
        if "shared_mlp.input_linear" in key:
            for part, half in zip(("gate", "up"), weight.chunk(2)):
                parts[key.replace("shared_mlp.input_linear", f"mlp.{part}_proj")] = half
        else:
            parts[key.replace("shared_mlp.output_linear", "mlp.down_proj")] = weight
    return parts


def granite_hybrid(sizes, count):
    more = experts(count, 3, shared_intermediate_size=64) if count else {"num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": sizes["intermediate_size"]}
    return {**GRANITE, **beside(sizes, mamba_n_groups=1), **more, "layer_types": ["mamba", "attention", "mamba"], "position_embedding_type": "nope"}


def granite_hybrid_values(config):
    mixture = {"expert_count": 8, "expert_used_count": 3, "expert_shared_feed_forward_length": 64} if config.num_local_experts else {}
    return {**granite_values(config), **beside_values(config), **key_heads(config, (0, 1, 0)), **mixture, "rope.scaling.finetuned": False}


def nemotron_values(config):
    inner = config.mamba_num_heads * config.mamba_head_dim
    return {**ssm(config, inner, config.ssm_state_size, config.mamba_num_heads, config.n_groups), **key_heads(config, (0, 1, 0, 0)),
            "feed_forward_length": [0, 0, config.intermediate_size, 0]}  # fmt: skip


def nemotron(pattern):
    """The least time step, which files do not have, is next to none."""
    return {"hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern), "mamba_num_heads": 8, "mamba_head_dim": 12, "ssm_state_size": 12, "n_groups": 4,
            "time_step_min": 1e-30}  # fmt: skip


NEMOTRON_NAMES = mixer("mixer", norm="attn_norm", **{f"mixer.{one}_proj": f"attn_{one}" for one in "qkv"},
                       **{"mixer.o_proj": "attn_output", "mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down", "mixer.gate": "ffn_gate_inp",
                          "mixer.shared_experts.up_proj": "ffn_up_shexp", "mixer.shared_experts.down_proj": "ffn_down_shexp"})  # fmt: skip
LFM2_NAMES = {"conv.conv": "shortconv.conv", "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "operator_norm": "attn_norm",
              "ffn_norm": "ffn_norm", "feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
              "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
              "feed_forward.gate": "ffn_gate_inp", "feed_forward": "exp_probs_b"}  # fmt: skip


def lfm2(sizes, **more):
    return {"layer_types": ["conv", "full_attention", "conv"], "block_auto_adjust_ff_dim": False, "block_ff_dim": sizes["intermediate_size"], "conv_L_cache": 4,
            "norm_eps": 1e-5, "head_dim": None, **more}  # fmt: skip


def lfm2_values(config):
    return {"shortconv.l_cache": config.conv_L_cache, **key_heads(config, (0, 1, 0))}


DELTA_NAMES = {f"linear_attn.{part}": name for part, name in {**MIXER, "in_proj_qkv": "attn_qkv", "in_proj_z": "attn_gate", "in_proj_b": "ssm_beta",
                                                              "in_proj_a": "ssm_alpha", "in_proj_ba": "ssm_ba"}.items()}  # fmt: skip
DELTA_NAMES["post_attention_layernorm"] = "post_attention_norm"


def delta(sizes, **more):
    return {"layer_types": ["linear_attention"] * 3 + ["full_attention", "linear_attention"], "num_hidden_layers": 5, "linear_num_key_heads": 2,
            "linear_num_value_heads": 6, "linear_key_head_dim": 12, "linear_value_head_dim": 12, "tie_word_embeddings": False,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}, **more}  # fmt: skip


def delta_values(config):
    heads = config.linear_num_value_heads
    return {**ssm(config, heads * config.linear_value_head_dim, config.linear_key_head_dim, heads, config.linear_num_key_heads), **turned(config),
            "full_attention_interval": 4}  # fmt: skip


def delta_remade(state, config):
    made, shares = {}, config.linear_num_value_heads // config.linear_num_key_heads
    for key, weight in recurrent(state).items():
        if key.endswith("linear_attn.norm.weight"):
            weight = weight - 1  # write() adds it to all norms
        if key.endswith("in_proj_qkvz.weight"):
            sizes = (config.linear_key_head_dim, config.linear_key_head_dim, shares * config.linear_value_head_dim, shares * config.linear_value_head_dim)
            parts = [part.flatten(0, 1) for part in weight.reshape(config.linear_num_key_heads, sum(sizes), -1).split(sizes, 1)]
            made[key.replace("qkvz", "qkv")], made[key.replace("qkvz", "z")] = torch.cat(parts[:3]), parts[3]
        else:
            made[key] = weight
    return made


def strided(weight, config, size):
    """Heads of values in the order of files: the first of each key head, then the second ones."""
    return weight.reshape(config.linear_num_key_heads, -1, size, *weight.shape[1:]).transpose(0, 1).reshape(weight.shape)


def strided_remade(state, config):
    made, size = delta_remade(state, config), config.linear_value_head_dim
    keys = 2 * config.linear_num_key_heads * config.linear_key_head_dim
    for key, weight in made.items():
        if key.endswith(("in_proj_qkv.weight", "conv1d.weight")):
            made[key] = torch.cat([weight[:keys], strided(weight[keys:], config, size)])
        elif key.endswith("in_proj_z.weight"):
            made[key] = strided(weight, config, size)
        elif key.endswith(("in_proj_a.weight", "in_proj_b.weight", "linear_attn.A.alone", "linear_attn.dt.bias")):
            made[key] = strided(weight, config, 1)
        elif key.endswith("linear_attn.out_proj.weight"):
            made[key] = strided(weight.T.contiguous(), config, size).T.contiguous()
    return made


JAMBA_NAMES = mixer("mamba", **{f"mamba.{part}_layernorm": f"ssm_{part}_norm" for part in ("dt", "b", "c")}, pre_ff_layernorm="ffn_norm",
                    **{f"feed_forward.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}, **{"feed_forward.router": "ffn_gate_inp"})  # fmt: skip


def jamba(sizes, count):
    """Attention in the third layer, experts in each second one."""
    return {"num_hidden_layers": 4, "attn_layer_period": 4, "attn_layer_offset": 2, "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": count,
            "num_experts_per_tok": 3 if count > 1 else 0, "mamba_d_state": 11, "mamba_dt_rank": 6, "use_mamba_kernels": False, "head_dim": None}  # fmt: skip


def jamba_values(config):
    mixture = {"expert_count": config.num_experts, "expert_used_count": config.num_experts_per_tok} if config.num_experts > 1 else {}
    inner = config.mamba_expand * config.hidden_size
    return {**ssm(config, inner, config.mamba_d_state, config.mamba_dt_rank, taps=config.mamba_d_conv), **key_heads(config, (0, 0, 1, 0)), **mixture}


RECURRENT = (
    Architecture("jamba", "Jamba", lambda s: jamba(s, 8), jamba_values, JAMBA_NAMES, remade=lambda s, c: recurrent(s)),
    Architecture("jamba_dense", "Jamba", lambda s: jamba(s, 1), jamba_values, JAMBA_NAMES, architecture="jamba", remade=lambda s, c: recurrent(s)),
    Architecture("mamba", "Mamba", like_mamba, mamba_values, mixer("mixer", norm="attn_norm"), remade=lambda s, c: recurrent(s)),
    Architecture("falcon-mamba", "FalconMamba", like_mamba, lambda c: {**mamba_values(c), "ssm.dt_b_c_rms": True}, mixer("mixer", norm="attn_norm"),
                 architecture="mamba", remade=lambda s, c: recurrent(s)),
    Architecture("mamba2", "Mamba2", lambda s: like_mamba2(s, 1), mamba2_values, mixer("mixer", norm="attn_norm"), remade=lambda s, c: recurrent(s, heads=c.num_heads)),
    Architecture("mamba2_groups", "Mamba2", lambda s: like_mamba2(s, 4), mamba2_values, mixer("mixer", norm="attn_norm"), architecture="mamba2",
                 remade=lambda s, c: recurrent(s, c.n_groups, c.num_heads)),
    Architecture("lfm2", "Lfm2", lfm2, lfm2_values, LFM2_NAMES, remade=lambda s, c: recurrent(s)),
    Architecture("lfm2moe", "Lfm2Moe", lambda s: lfm2(s, **experts(8, 3, num_dense_layers=1)),
                 lambda c: {**lfm2_values(c), **expert_values(8, 3, leading_dense_block_count=1), "expert_gating_func": 2}, LFM2_NAMES,
                 remade=lambda s, c: {k.replace("expert_bias", "e_score_correction_bias"): v for k, v in recurrent(s).items()}),
    Architecture("falcon-h1", "FalconH1", lambda s: beside(s, mamba_n_groups=2), beside_values,
                 mixer("mamba", **{"pre_ff_layernorm": "ffn_norm", **{f"feed_forward.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}}),
                 remade=lambda s, c: recurrent({k.replace("ff_layernorm.weight", "ff_layernorm.alone"): v for k, v in s.items()}, heads=c.mamba_n_heads)),
    Architecture("granitehybrid", "GraniteMoeHybrid", lambda s: granite_hybrid(s, 0), granite_hybrid_values, mixer("mamba"), pairs=True, remade=granite_remade),
    Architecture("granitehybrid_experts", "GraniteMoeHybrid", lambda s: granite_hybrid(s, 8), granite_hybrid_values, mixer("mamba"),
                 architecture="granitehybrid", pairs=True, remade=granite_remade),
    Architecture("nemotron_h", "NemotronH",
                 lambda s: {**nemotron("M*-M"), "num_experts_per_tok": 0}, nemotron_values, NEMOTRON_NAMES,
                 remade=lambda s, c: recurrent(s, c.n_groups, c.mamba_num_heads)),
    Architecture("nemotron_h_moe", "NemotronH",
                 lambda s: {**nemotron("M*EM"), **experts(8, 3), **SIGMOIDS, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 64},
                 lambda c: {**nemotron_values(c), "feed_forward_length": [0, 0, 32, 0], **expert_values(8, 3), **scores(c), "leading_dense_block_count": 0,
                            "expert_shared_feed_forward_length": 64}, NEMOTRON_NAMES, remade=lambda s, c: recurrent(s, c.n_groups, c.mamba_num_heads)),
    Architecture("qwen3next", "Qwen3Next", lambda s: delta(s, **experts(8, 3, shared_expert_intermediate_size=64, norm_topk_prob=True)),
                 lambda c: {**delta_values(c), **expert_values(8, 3, expert_shared_feed_forward_length=64)}, DELTA_NAMES, adds_one=True, remade=delta_remade),
    Architecture("qwen35", "Qwen3_5", delta, lambda c: {**delta_values(c), "rope.dimension_sections": [2, 1, 1, 0]}, DELTA_NAMES, "Qwen3_5Text", adds_one=True,
                 remade=strided_remade),
)  # fmt: skip
