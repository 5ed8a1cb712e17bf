"""More networks of transformers, most of them of the last years, few layers of usual width: NETWORKS, by name a function that gives
a module and its inputs. Added when all of the others were known, to see what such networks bring that these did not."""

import torch
from language import BART, BERT, HEADS, LAYERS, LENGTH, LLAMA, MOE, VOCABULARY, WIDTH, configured
from tensors import Tensors, words

CAUSAL, PLAIN = "AutoModelForCausalLM", "AutoModel"
CLASSIFIER = "AutoModelForImageClassification"
VISION = {key: value for key, value in BERT.items() if key != "vocab_size"}
SPEECH = {**BERT, "conv_dim": [128] * 7, "vocab_size": 32}
GPT = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "vocab_size": VOCABULARY}
XLM = {"emb_dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "n_words": VOCABULARY}
ROUTED = {**MOE, "n_routed_experts": 4, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "n_shared_experts": 1}
LATENT = {**ROUTED, "num_key_value_heads": HEADS, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_rope_head_dim": 32,
          "qk_nope_head_dim": 32, "v_head_dim": 64, "head_dim": 32}

#: Class, what differs from the configuration's defaults; those of LLAMA_LIKE, BERT_LIKE and MOE_LIKE need no more than that.
LLAMA_LIKE = ("apertus arcee bitnet cohere cohere2 cwm diffllama doge ernie4_5 exaone4 gemma3_text glm glm4 helium hunyuan_v1_dense "
              "ministral nanochat nemotron olmo olmo3 phi3 seed_oss smollm3 starcoder2 vaultgemma").split()
BERT_LIKE = "bert-generation bros layoutlm lilt megatron-bert mra nomic_bert roberta-prelayernorm splinter tapas xlm-roberta-xl".split()
MOE_LIKE = "gpt_oss granitemoe minimax olmoe phimoe".split()
TEXT = {
    **{kind: (CAUSAL, LLAMA) for kind in LLAMA_LIKE},
    **{kind: (PLAIN, BERT) for kind in BERT_LIKE},
    **{kind: (CAUSAL, MOE) for kind in MOE_LIKE},
    "bamba": (CAUSAL, {**LLAMA, "attn_layer_indices": [1], "mamba_n_heads": 12, "mamba_d_head": 64, "mamba_chunk_size": 32}),
    "biogpt": (CAUSAL, BERT),
    "ctrl": (CAUSAL, {**GPT, "dff": 1024}),
    "deepseek_v3": (CAUSAL, LATENT),
    "dots1": (CAUSAL, ROUTED),
    "ernie4_5_moe": (CAUSAL, {**MOE, "moe_num_experts": 4, "moe_k": 2}),
    "esm": (PLAIN, {**BERT, "mask_token_id": 3, "pad_token_id": 0}),
    "eurobert": (PLAIN, LLAMA),
    "falcon_h1": (CAUSAL, {**LLAMA, "mamba_d_ssm": 256, "mamba_n_heads": 8, "mamba_d_head": 32, "mamba_d_state": 32,
                           "mamba_chunk_size": 32}),
    "falcon_mamba": (CAUSAL, {"hidden_size": 192, "num_hidden_layers": LAYERS, "vocab_size": VOCABULARY}),
    "flaubert": (PLAIN, XLM),
    "glm4_moe": (CAUSAL, ROUTED),
    "gpt_bigcode": (CAUSAL, GPT),
    "gpt_neox_japanese": (CAUSAL, BERT),
    "jamba": (CAUSAL, {**MOE, "num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1}),
    "jetmoe": (CAUSAL, {**MOE, "kv_channels": 64}),
    "lfm2": (CAUSAL, {**LLAMA, "layer_types": ["conv", "full_attention"], "block_ff_dim": 1024}),
    "luke": (PLAIN, {**BERT, "entity_vocab_size": 100, "entity_emb_size": 64}),
    "minicpm3": (CAUSAL, LATENT),
    "modernbert-decoder": (CAUSAL, {**LLAMA, "local_attention": 32}),
    "openai-gpt": (CAUSAL, GPT),
    "persimmon": (CAUSAL, {**BERT, "pad_token_id": 0}),
    "qwen2_moe": (CAUSAL, {**MOE, "shared_expert_intermediate_size": 256, "decoder_sparse_step": 1}),
    "qwen3_next": (CAUSAL, {**MOE, "layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 4,
                            "linear_num_key_heads": 2, "linear_key_head_dim": 32, "linear_value_head_dim": 32}),
    "roc_bert": (PLAIN, {**BERT, "shape_vocab_size": 100, "pronunciation_vocab_size": 100}),
    "xlm": (PLAIN, XLM),
    "xlstm": (CAUSAL, {"hidden_size": 256, "num_hidden_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY, "chunk_size": 32}),
    "xmod": (PLAIN, {**BERT, "languages": ["en"], "default_language": "en"}),
}
#: Of these a mask of attention is no input.
UNMASKED = {"bamba", "bros", "falcon_mamba", "flaubert", "jamba", "xlm", "xlstm"}

PAIRS = {
    **{kind: BART for kind in ("blenderbot-small", "mvp", "pegasus_x", "plbart")},
    "bigbird_pegasus": {**BART, "attention_type": "original_full"},
    "nllb-moe": {**BART, "num_experts": 4},
    "t5gemma": {"encoder": LLAMA, "decoder": LLAMA},
}

#: Configuration, class, changes, extents of the picture.
PICTURES = {
    "aimv2": ("aimv2_vision_model", PLAIN, {**VISION, "image_size": 224, "patch_size": 14}, (224, 224)),
    "blip": ("blip_vision_model", "BlipVisionModel", {**VISION, "image_size": 192}, (192, 192)),
    "dinov2_with_registers": ("dinov2_with_registers", PLAIN, {**VISION, "image_size": 224, "patch_size": 14}, (224, 224)),
    "dinov3_convnext": ("dinov3_convnext", PLAIN, {"depths": [1, 1, 2, 1], "hidden_sizes": [48, 96, 192, 384]}, (224, 224)),
    "dinov3_vit": ("dinov3_vit", PLAIN, {**VISION, "image_size": 224}, (224, 224)),
    "groupvit": ("groupvit_vision_model", "GroupViTVisionModel", {**VISION, "depths": [2, 1, 1]}, (224, 224)),
    "hgnet_v2": ("hgnet_v2", "HGNetV2ForImageClassification", {}, (224, 224)),
    "mlcd": ("mlcd_vision_model", PLAIN, {**VISION, "num_key_value_groups": 1, "image_size": 224}, (224, 224)),
    "mobilenet_v2": ("mobilenet_v2", CLASSIFIER, {}, (224, 224)),
    "owlvit": ("owlvit_vision_model", "OwlViTVisionModel", {**VISION, "image_size": 224}, (224, 224)),
    "pixio": ("pixio", PLAIN, {**VISION, "image_size": 224}, (224, 224)),
    "pp_lcnet": ("pp_lcnet", CLASSIFIER, {}, (224, 224)),
    "pp_ocrv5_mobile_det": ("pp_ocrv5_mobile_det", "PPOCRV5MobileDetForObjectDetection", {}, (320, 320)),
    "resnet": ("resnet", CLASSIFIER, {"depths": [1, 1, 2, 1]}, (224, 224)),
    "sam2": ("sam2_vision_model", "Sam2VisionModel", {}, (256, 256)),
    "swiftformer": ("swiftformer", CLASSIFIER, {"depths": [2, 2, 2, 2]}, (224, 224)),
    "swin": ("swin", CLASSIFIER, {"depths": [1, 1, 2, 1], "embed_dim": 48, "num_heads": [2, 3, 6, 12]}, (224, 224)),
    "table_transformer": ("table-transformer", "AutoModelForObjectDetection", {
        "encoder_layers": 1, "decoder_layers": 1, "use_pretrained_backbone": False, "use_timm_backbone": False,
        "backbone_config": None, "num_queries": 50}, (224, 224)),
    "textnet": ("textnet", CLASSIFIER, {}, (224, 224)),
    "vit_msn": ("vit_msn", PLAIN, VISION, (224, 224)),
    "vitpose": ("vitpose_backbone", "VitPoseBackbone", {**VISION, "image_size": [256, 192]}, (256, 192)),
}

#: Configuration, class, changes, name of the input, its shape.
SIGNALS = {
    "audio/fastspeech2_hifigan": ("fastspeech2_conformer_hifigan", "FastSpeech2ConformerHifiGan",
                                  {"upsample_initial_channel": 128}, "spectrogram", (1, 50, 80)),
    "audio/lasr": ("lasr_encoder", "LasrEncoder", VISION, "input_features", (1, 200, 128)),
    "audio/parakeet": ("parakeet_encoder", "ParakeetEncoder", {**VISION, "num_mel_bins": 80}, "input_features", (1, 200, 80)),
    "audio/sew-d": ("sew-d", PLAIN, {**BERT, "squeeze_factor": 2}, "input_values", (1, 16000)),
    "audio/unispeech": ("unispeech", PLAIN, SPEECH, "input_values", (1, 16000)),
    "audio/unispeech-sat": ("unispeech-sat", PLAIN, SPEECH, "input_values", (1, 16000)),
    "video/videoprism": ("videoprism_vision_model", "VideoPrismVisionModel", {**VISION, "num_frames": 4, "image_size": 112},
                         "pixel_values_videos", (1, 4, 3, 112, 112)),
    "video/vjepa2": ("vjepa2", "VJEPA2Model", {**VISION, "crop_size": 112, "frames_per_clip": 4, "pred_num_hidden_layers": 1},
                     "pixel_values_videos", (1, 4, 3, 112, 112)),
}


def text(kind):
    of, changes = TEXT[kind]
    inputs = {"input_ids": words(VOCABULARY, LENGTH)}
    if kind not in UNMASKED:
        inputs["attention_mask"] = torch.ones(1, LENGTH, dtype=torch.int64)
    if kind == "bros":
        inputs["bbox"] = torch.rand(1, LENGTH, 8)
    if kind in ("lilt", "layoutlm"):
        corners = torch.randint(0, 500, (1, LENGTH, 2))
        inputs["bbox"] = torch.cat([corners, corners + 100], -1)
    return Tensors(configured(kind, of, changes), inputs), tuple(inputs.values())


def pair(kind):
    inputs = {"input_ids": words(VOCABULARY, LENGTH), "decoder_input_ids": words(VOCABULARY, 32)}
    return Tensors(configured(kind, PLAIN, PAIRS[kind]), inputs), tuple(inputs.values())


def picture(name):
    kind, of, changes, extents = PICTURES[name]
    return Tensors(configured(kind, of, changes), ("pixel_values",)), (torch.randn(1, 3, *extents),)


def signal(name):
    kind, of, changes, given, shape = SIGNALS[name]
    return Tensors(configured(kind, of, changes), (given,)), (torch.randn(shape),)


NETWORKS = {
    **{f"newer/{kind}": lambda kind=kind: text(kind) for kind in TEXT},
    **{f"newer/pairs/{kind}": lambda kind=kind: pair(kind) for kind in PAIRS},
    **{f"newer/pictures/{name}": lambda name=name: picture(name) for name in PICTURES},
    **{f"newer/{name}": lambda name=name: signal(name) for name in SIGNALS},
}
