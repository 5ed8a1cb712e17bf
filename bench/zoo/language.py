"""Networks of transformers, few layers of usual width: NETWORKS, by name a function that gives a module and its inputs."""

import torch
from tensors import Tensors, words

WIDTH, HEADS, LAYERS, VOCABULARY, LENGTH = 384, 6, 2, 3000, 128
BERT = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 4 * WIDTH,
        "vocab_size": VOCABULARY}
LLAMA = {**BERT, "num_key_value_heads": 2, "intermediate_size": 1024, "head_dim": 64, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2}
MOE = {**LLAMA, "num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256}
GPT = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2}
BART = {"d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS, "encoder_ffn_dim": 4 * WIDTH, "decoder_ffn_dim": 4 * WIDTH,
        "vocab_size": VOCABULARY, "max_position_embeddings": 512}
T5 = {"d_model": WIDTH, "d_kv": 64, "d_ff": 1024, "num_layers": LAYERS, "num_heads": HEADS, "vocab_size": VOCABULARY}

#: Class behind the name of its configuration, what differs from the configuration's defaults, and inputs of `words`.
TEXT = {
    "albert": ("AutoModel", {**BERT, "embedding_size": 128}),
    "bert": ("AutoModel", BERT),
    "big_bird": ("AutoModel", {**BERT, "attention_type": "original_full"}),
    "bloom": ("AutoModelForCausalLM", {"hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "vocab_size": VOCABULARY}),
    "canine": ("AutoModel", {**BERT}),
    "codegen": ("AutoModelForCausalLM", {**GPT, "n_positions": 256, "n_ctx": 256, "rotary_dim": 32, "n_head": 4}),
    "convbert": ("AutoModel", {**BERT, "embedding_size": WIDTH}),
    "deberta": ("AutoModel", {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "deberta-v2": ("AutoModel", {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 64,
                                 "norm_rel_ebd": "layer_norm", "share_att_key": True}),
    "distilbert": ("AutoModel", {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 4 * WIDTH,
                                 "vocab_size": VOCABULARY}),
    "electra": ("AutoModelForMaskedLM", {**BERT, "embedding_size": 128}),
    "ernie": ("AutoModel", BERT),
    "falcon": ("AutoModelForCausalLM", {**BERT, "alibi": False, "multi_query": True}),
    "fnet": ("AutoModel", {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "intermediate_size": 4 * WIDTH,
                           "vocab_size": VOCABULARY}),
    "funnel": ("AutoModel", {"d_model": WIDTH, "n_head": HEADS, "d_head": 64, "d_inner": 4 * WIDTH, "block_sizes": [1, 1],
                             "vocab_size": VOCABULARY}),
    "gemma": ("AutoModelForCausalLM", LLAMA),
    "gemma2": ("AutoModelForCausalLM", LLAMA),
    "gpt2": ("AutoModelForCausalLM", GPT),
    "gpt_neo": ("AutoModelForCausalLM", {"hidden_size": WIDTH, "num_layers": 2, "num_heads": HEADS, "vocab_size": VOCABULARY,
                                         "attention_types": [[["global", "local"], 1]], "window_size": 32}),
    "gpt_neox": ("AutoModelForCausalLM", BERT),
    "gptj": ("AutoModelForCausalLM", {**GPT, "n_positions": 256, "rotary_dim": 32}),
    "granite": ("AutoModelForCausalLM", LLAMA),
    "ibert": ("AutoModel", BERT),
    "llama": ("AutoModelForCausalLM", LLAMA),
    "longformer": ("AutoModel", {**BERT, "attention_window": [32, 32]}),
    "mamba": ("AutoModelForCausalLM", {"hidden_size": 192, "num_hidden_layers": LAYERS, "vocab_size": VOCABULARY}),
    "mamba2": ("AutoModelForCausalLM", {"hidden_size": 192, "num_hidden_layers": LAYERS, "vocab_size": VOCABULARY,
                                        "num_heads": 6, "head_dim": 64, "n_groups": 1, "chunk_size": 32}),
    "mistral": ("AutoModelForCausalLM", {**LLAMA, "sliding_window": 32}),
    "mixtral": ("AutoModelForCausalLM", MOE),
    "mobilebert": ("AutoModel", {"num_hidden_layers": 4, "vocab_size": VOCABULARY}),
    "modernbert": ("AutoModel", {**LLAMA, "global_attn_every_n_layers": 2, "local_attention": 32}),
    "mpnet": ("AutoModel", BERT),
    "mpt": ("AutoModelForCausalLM", {"d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS, "vocab_size": VOCABULARY,
                                     "max_seq_len": 256}),
    "nystromformer": ("AutoModel", {**BERT, "num_landmarks": 16, "segment_means_seq_len": LENGTH}),
    "olmo2": ("AutoModelForCausalLM", LLAMA),
    "opt": ("AutoModelForCausalLM", {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                                     "ffn_dim": 4 * WIDTH, "word_embed_proj_dim": WIDTH, "vocab_size": VOCABULARY}),
    "phi": ("AutoModelForCausalLM", {**BERT, "pad_token_id": 0}),
    "qwen2": ("AutoModelForCausalLM", LLAMA),
    "qwen3": ("AutoModelForCausalLM", LLAMA),
    "qwen3_moe": ("AutoModelForCausalLM", MOE),
    "rembert": ("AutoModel", {**BERT, "input_embedding_size": 128}),
    "roberta": ("AutoModel", BERT),
    "roformer": ("AutoModel", {**BERT, "embedding_size": WIDTH}),
    "rwkv": ("AutoModelForCausalLM", {"hidden_size": 192, "num_hidden_layers": LAYERS, "vocab_size": VOCABULARY}),
    "recurrent_gemma": ("AutoModelForCausalLM", {**LLAMA, "num_hidden_layers": 3, "lru_width": WIDTH}),
    "squeezebert": ("AutoModel", {**BERT, "embedding_size": WIDTH}),
    "stablelm": ("AutoModelForCausalLM", LLAMA),
    "xglm": ("AutoModelForCausalLM", {"d_model": WIDTH, "num_layers": LAYERS, "attention_heads": HEADS, "ffn_dim": 4 * WIDTH,
                                      "vocab_size": VOCABULARY}),
    "xlm-roberta": ("AutoModel", BERT),
    "xlnet": ("AutoModel", {"d_model": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "d_inner": 4 * WIDTH,
                            "vocab_size": VOCABULARY}),
    "yoso": ("AutoModel", {**BERT, "use_expectation": True}),
}

PAIRS = {
    "bart": BART,
    "blenderbot": BART,
    "fsmt": {**BART, "src_vocab_size": VOCABULARY, "tgt_vocab_size": VOCABULARY, "langs": ["en", "de"]},
    "led": {**BART, "attention_window": 32},
    "longt5": {**T5, "local_radius": 15},
    "m2m_100": BART,
    "marian": {**BART, "decoder_vocab_size": VOCABULARY, "pad_token_id": 0, "decoder_start_token_id": 0},
    "mbart": BART,
    "mt5": T5,
    "pegasus": BART,
    "prophetnet": {"hidden_size": WIDTH, "num_encoder_layers": LAYERS, "num_decoder_layers": LAYERS, "vocab_size": VOCABULARY,
                   "num_encoder_attention_heads": HEADS, "num_decoder_attention_heads": HEADS, "encoder_ffn_dim": 1024,
                   "decoder_ffn_dim": 1024},
    "switch_transformers": {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "t5": T5,
    "umt5": T5,
}


def configured(kind, of, changes):
    """The network that class `of` of transformers makes of the configuration `kind` with changes; no cache of keys."""
    import transformers

    # Of the ways to multiply by experts, one that exporters know.
    experts = {"experts_implementation": "batched_mm"} if "num_experts_per_tok" in changes else {}
    configuration = transformers.AutoConfig.for_model(kind, **changes, **experts)
    for part in [configuration, *vars(configuration).values()]:
        if hasattr(part, "use_cache"):
            part.use_cache = False
    if of == "AutoModel" or of.startswith("AutoModelFor"):
        return getattr(transformers, of).from_config(configuration)
    return getattr(transformers, of)(configuration)


def text(kind):
    of, changes = TEXT[kind]
    masked = {} if kind in ("mamba", "mamba2", "rwkv", "fnet") else {"attention_mask": torch.ones(1, LENGTH, dtype=torch.int64)}
    inputs = {"input_ids": words(VOCABULARY, LENGTH), **masked}
    return Tensors(configured(kind, of, changes), inputs), tuple(inputs.values())


def pair(kind):
    inputs = {"input_ids": words(VOCABULARY, LENGTH), "decoder_input_ids": words(VOCABULARY, 32)}
    return Tensors(configured(kind, "AutoModel", PAIRS[kind]), inputs), tuple(inputs.values())


NETWORKS = {
    **{f"language/{kind}": lambda kind=kind: text(kind) for kind in TEXT},
    **{f"pairs/{kind}": lambda kind=kind: pair(kind) for kind in PAIRS},
}
