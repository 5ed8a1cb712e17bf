"""Networks of transformers for pictures, sound and time series: NETWORKS, by name a function that gives a module and its
inputs."""

import torch
from language import BERT, HEADS, LAYERS, VOCABULARY, WIDTH, configured
from tensors import Tensors, words

FOUR = [1, 1, 1, 1]
TOWERS = {"text_config": {**BERT, "projection_dim": 256}, "vision_config": {**{k: BERT[k] for k in BERT if k != "vocab_size"},
                                                                           "patch_size": 16, "projection_dim": 256}}
SPEECH = {**BERT, "conv_dim": [128] * 7, "vocab_size": 32}
DETR = {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "use_pretrained_backbone": False, "use_timm_backbone": False,
        "backbone_config": None, "num_queries": 50}

#: Configuration, class, changes, extent of the square picture.
PICTURES = {
    "beit": ("beit", "AutoModel", {**BERT, "image_size": 224, "use_relative_position_bias": True}, 224),
    "bit": ("bit", "AutoModelForImageClassification", {"depths": [1, 1, 1, 1]}, 160),
    "conditional_detr": ("conditional_detr", "AutoModelForObjectDetection", DETR, 224),
    "convnextv2": ("convnextv2", "AutoModelForImageClassification", {"depths": [2, 2, 2, 2], "hidden_sizes": [48, 96, 192, 384]},
                   224),
    "cvt": ("cvt", "AutoModelForImageClassification", {}, 224),
    "data2vec-vision": ("data2vec-vision", "AutoModel", {**BERT, "image_size": 224}, 224),
    "deformable_detr": ("deformable_detr", "AutoModelForObjectDetection", {**DETR, "disable_custom_kernels": True}, 224),
    "deit": ("deit", "DeiTForImageClassification", BERT, 224),
    "depth_anything": ("depth_anything", "AutoModelForDepthEstimation", {
        "backbone_config": {"model_type": "dinov2", "hidden_size": WIDTH, "num_hidden_layers": 4, "num_attention_heads": HEADS,
                            "image_size": 224, "patch_size": 14, "out_indices": [1, 2, 3, 4], "reshape_hidden_states": False,
                            "apply_layernorm": True}, "reassemble_hidden_size": WIDTH}, 224),
    "detr": ("detr", "AutoModelForObjectDetection", DETR, 224),
    "dinov2": ("dinov2", "AutoModel", {**BERT, "image_size": 224, "patch_size": 14}, 224),
    "dpt": ("dpt", "AutoModelForDepthEstimation", {**BERT, "num_hidden_layers": 4, "image_size": 224,
                                                   "backbone_out_indices": [0, 1, 2, 3]}, 224),
    "efficientnet": ("efficientnet", "AutoModelForImageClassification", {"width_coefficient": 1.0, "depth_coefficient": 1.0,
                                                                         "hidden_dim": 1280}, 160),
    "focalnet": ("focalnet", "AutoModelForImageClassification", {"depths": [1, 1, 2, 1]}, 224),
    "glpn": ("glpn", "AutoModelForDepthEstimation", {"depths": FOUR}, 160),
    "hiera": ("hiera", "AutoModelForImageClassification", {"depths": [1, 1, 2, 1]}, 224),
    "ijepa": ("ijepa", "AutoModel", {**BERT, "image_size": 224}, 224),
    "levit": ("levit", "LevitForImageClassification", {"depths": [2, 2, 2]}, 224),
    "mobilenet_v1": ("mobilenet_v1", "AutoModelForImageClassification", {}, 224),
    "mobilevit": ("mobilevit", "AutoModelForImageClassification", {}, 256),
    "mobilevitv2": ("mobilevitv2", "AutoModelForImageClassification", {}, 256),
    "mobilevit_segmentation": ("mobilevit", "AutoModelForSemanticSegmentation", {}, 256),
    "poolformer": ("poolformer", "AutoModelForImageClassification", {"depths": [2, 2, 4, 2]}, 224),
    "pvt": ("pvt", "AutoModelForImageClassification", {"depths": FOUR}, 224),
    "pvt_v2": ("pvt_v2", "AutoModelForImageClassification", {"depths": FOUR}, 224),
    "regnet": ("regnet", "AutoModelForImageClassification", {"depths": [1, 2, 4, 1]}, 224),
    "rt_detr": ("rt_detr", "AutoModelForObjectDetection", {"use_timm_backbone": False, "use_pretrained_backbone": False,
                                                           "num_queries": 50, "decoder_layers": 2}, 256),
    "segformer": ("segformer", "AutoModelForSemanticSegmentation", {"depths": FOUR}, 224),
    "siglip": ("siglip_vision_model", "AutoModel", {**{k: BERT[k] for k in BERT if k != "vocab_size"}, "image_size": 224}, 224),
    "superpoint": ("superpoint", "AutoModel", {}, 160),
    "swin2sr": ("swin2sr", "AutoModelForImageToImage", {"depths": [2, 2], "num_heads": [6, 6], "image_size": 64}, 64),
    "swinv2": ("swinv2", "AutoModelForImageClassification", {"depths": [1, 1, 2, 1]}, 256),
    "upernet": ("upernet", "AutoModelForSemanticSegmentation", {
        "backbone_config": {"model_type": "convnext", "depths": FOUR, "hidden_sizes": [48, 96, 192, 384],
                            "out_features": ["stage1", "stage2", "stage3", "stage4"]}, "hidden_size": 128}, 128),
    "van": ("van", "AutoModelForImageClassification", {"depths": FOUR}, 224),
    "vit": ("vit", "AutoModelForImageClassification", BERT, 224),
    "vit_mae": ("vit_msn", "AutoModel", BERT, 224),
    "vitdet": ("vitdet", "AutoModel", {**{k: BERT[k] for k in BERT if k not in ("vocab_size", "intermediate_size")},
                                       "window_block_indices": [0], "window_size": 7, "use_relative_position_embeddings": True,
                                       "image_size": 224}, 224),
    "yolos": ("yolos", "AutoModelForObjectDetection", {**BERT, "image_size": [224, 224], "num_detection_tokens": 50}, 224),
    "zoedepth": ("zoedepth", "AutoModelForDepthEstimation", {}, 128),
}


def picture(name):
    kind, of, changes, size = PICTURES[name]
    return Tensors(configured(kind, of, changes), ("pixel_values",)), (torch.randn(1, 3, size, size),)


#: Configuration, class, changes, name of the input, its shape.
SIGNALS = {
    "audio/ast": ("audio-spectrogram-transformer", "AutoModel", {**BERT, "max_length": 256}, "input_values", (1, 256, 128)),
    "audio/clap": ("clap_audio_model", "ClapAudioModel", {"depths": [1, 1, 2, 1]}, "input_features", (1, 1, 1001, 64)),
    "audio/dac": ("dac", "AutoModel", {"encoder_hidden_size": 32, "decoder_hidden_size": 256, "n_codebooks": 2}, "input_values",
                  (1, 1, 8192)),
    "audio/encodec": ("encodec", "AutoModel", {"num_filters": 16}, "input_values", (1, 1, 9600)),
    "audio/data2vec": ("data2vec-audio", "AutoModel", SPEECH, "input_values", (1, 16000)),
    "audio/hubert": ("hubert", "AutoModel", SPEECH, "input_values", (1, 16000)),
    "audio/mimi": ("mimi", "AutoModel", {"num_hidden_layers": 2, "num_filters": 32}, "input_values", (1, 1, 9600)),
    "audio/sew": ("sew", "AutoModel", {**BERT, "squeeze_factor": 2}, "input_values", (1, 16000)),
    "audio/univnet": ("univnet", "AutoModel", {"model_hidden_channels": 16}, "input_features", (1, 50, 100)),
    "audio/wav2vec2": ("wav2vec2", "AutoModelForCTC", SPEECH, "input_values", (1, 16000)),
    "audio/wav2vec2_conformer": ("wav2vec2-conformer", "AutoModel", SPEECH, "input_values", (1, 16000)),
    "audio/wav2vec2_bert": ("wav2vec2-bert", "AutoModel", BERT, "input_features", (1, 100, 160)),
    "audio/wavlm": ("wavlm", "AutoModel", SPEECH, "input_values", (1, 16000)),
    "series/patchtsmixer": ("patchtsmixer", "PatchTSMixerForPrediction", {"context_length": 256, "num_input_channels": 7},
                            "past_values", (1, 256, 7)),
    "series/patchtst": ("patchtst", "PatchTSTForPrediction", {"context_length": 256, "num_input_channels": 7, "patch_length": 16,
                                                              "patch_stride": 8}, "past_values", (1, 256, 7)),
    "video/timesformer": ("timesformer", "AutoModel", {**BERT, "num_frames": 4, "image_size": 112}, "pixel_values",
                          (1, 4, 3, 112, 112)),
    "video/videomae": ("videomae", "AutoModel", {**BERT, "num_frames": 4, "image_size": 112}, "pixel_values",
                       (1, 4, 3, 112, 112)),
    "video/vivit": ("vivit", "AutoModel", {**BERT, "num_frames": 4, "image_size": 112}, "pixel_values", (1, 4, 3, 112, 112)),
}


def signal(name):
    kind, of, changes, given, shape = SIGNALS[name]
    return Tensors(configured(kind, of, changes), (given,)), (torch.randn(shape),)


def whisper_encoder():
    changes = {"d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS,
               "decoder_attention_heads": HEADS, "encoder_ffn_dim": 4 * WIDTH, "decoder_ffn_dim": 4 * WIDTH}
    return Tensors(configured("whisper", "AutoModel", changes).encoder, ("input_features",)), (torch.randn(1, 80, 3000),)


def whisper_decoder():
    changes = {"d_model": WIDTH, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "encoder_attention_heads": HEADS,
               "decoder_attention_heads": HEADS, "encoder_ffn_dim": 4 * WIDTH, "decoder_ffn_dim": 4 * WIDTH,
               "vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    names = ("input_ids", "encoder_hidden_states")
    return Tensors(configured("whisper", "AutoModel", changes).decoder, names), (words(VOCABULARY, 16), torch.randn(1, 300, WIDTH))


def clip(kind):
    names = ("input_ids", "pixel_values")
    return Tensors(configured(kind, "AutoModel", TOWERS), names), (words(VOCABULARY, 64), torch.randn(1, 3, 224, 224))


def sam_encoder():
    changes = {"vision_config": {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS, "image_size": 256,
                                 "global_attn_indexes": [1], "window_size": 7, "mlp_dim": 4 * WIDTH}}
    return Tensors(configured("sam", "AutoModel", changes).vision_encoder, ("pixel_values",)), (torch.randn(1, 3, 256, 256),)


def vits():
    changes = {"vocab_size": 40, "num_hidden_layers": 2}
    return Tensors(configured("vits", "AutoModel", changes).text_encoder, ("input_ids", "padding_mask")), (
        words(40, 64), torch.ones(1, 64, 1))


def hifigan():
    import transformers

    configuration = transformers.SpeechT5HifiGanConfig(upsample_initial_channel=128)
    return Tensors(transformers.SpeechT5HifiGan(configuration), ("spectrogram",)), (torch.randn(1, 50, 80),)


def autoformer(kind):
    changes = {"prediction_length": 24, "context_length": 96, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
               "num_time_features": 2, "lags_sequence": [1, 2, 3]}
    past = 99
    inputs = {"past_values": torch.rand(1, past), "past_time_features": torch.randn(1, past, 2),
              "past_observed_mask": torch.ones(1, past), "future_values": torch.rand(1, 24),
              "future_time_features": torch.randn(1, 24, 2)}
    return Tensors(configured(kind, "AutoModel", changes), inputs), tuple(inputs.values())


NETWORKS = {
    **{f"pictures/{name}": lambda name=name: picture(name) for name in PICTURES},
    **{name: lambda name=name: signal(name) for name in SIGNALS},
    "audio/whisper_encoder": whisper_encoder,
    "audio/whisper_decoder": whisper_decoder,
    "audio/vits_text": vits,
    "audio/hifigan": hifigan,
    "pictures/clip": lambda: clip("clip"),
    "pictures/siglip_both": lambda: clip("siglip"),
    "pictures/sam_encoder": sam_encoder,
    **{f"series/{kind}": lambda kind=kind: autoformer(kind) for kind in ("autoformer", "informer", "time_series_transformer")},
}
