"""Networks of packages other than timm that one installs oneself: NETWORKS, by name a function that gives a module and its
inputs. Pictures, volumes, restorers, diffusion, sounds, series and graphs, all small."""

import importlib

import torch
from tensors import Tensors


torch.version.cuda = None  # a torchaudio of another CUDA refuses to be loaded; exporting needs none


def ids(count, *shape):
    return lambda: torch.randint(0, count, shape)


def ones(*shape):
    return lambda: torch.ones(shape, dtype=torch.bool)


IMAGE, SMALL, LATENT = (1, 3, 224, 224), (1, 3, 64, 64), (1, 4, 32, 32)
UNET = {"block_out_channels": (64, 128), "layers_per_block": 1}
CONDITIONED = {**UNET, "cross_attention_dim": 128, "attention_head_dim": 4, "sample_size": 32,
               "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}
VAE = {"block_out_channels": (32, 64), "layers_per_block": 1, "down_block_types": ("DownEncoderBlock2D",) * 2,
       "up_block_types": ("UpDecoderBlock2D",) * 2, "norm_num_groups": 16}
HEADS = {"num_attention_heads": 4, "attention_head_dim": 32, "num_layers": 2}
VIT = {"image_size": 224, "patch_size": 16, "num_classes": 100, "dim": 192, "depth": 3, "heads": 4, "mlp_dim": 512}
TIME = ids(1000, 1)

#: Module, what is called there, its arguments, and the inputs: extents of random numbers, or a function that makes them.
ROWS = {
    # diffusers: diffusion and coders of pictures
    "diffusers/unet2d": ("diffusers", "UNet2DModel", {**UNET, "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
                         "up_block_types": ("AttnUpBlock2D", "UpBlock2D"), "sample_size": 32}, [(1, 3, 32, 32), TIME]),
    "diffusers/unet2d_resnet": ("diffusers", "UNet2DModel", {**UNET, "down_block_types": ("ResnetDownsampleBlock2D",) * 2,
                                "up_block_types": ("ResnetUpsampleBlock2D",) * 2, "resnet_time_scale_shift": "scale_shift"},
                                [(1, 3, 32, 32), TIME]),
    "diffusers/unet1d": ("diffusers", "UNet1DModel", {"block_out_channels": (32, 64, 128), "sample_size": 4096, "extra_in_channels": 64},
                         [(1, 2, 4096), TIME]),
    "diffusers/conditioned": ("diffusers", "UNet2DConditionModel", CONDITIONED, [LATENT, TIME, (1, 32, 128)]),
    "diffusers/unet3d": ("diffusers", "UNet3DConditionModel", {
        **UNET, "cross_attention_dim": 64, "attention_head_dim": 8, "norm_num_groups": 16,
        "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"), "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")},
        [(1, 4, 4, 16, 16), TIME, (1, 16, 64)]),
    "diffusers/spatiotemporal": ("diffusers", "UNetSpatioTemporalConditionModel", {
        **UNET, "cross_attention_dim": 64, "num_attention_heads": 4, "in_channels": 8, "projection_class_embeddings_input_dim": 96,
        "addition_time_embed_dim": 32, "down_block_types": ("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        "up_block_types": ("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal")},
        [(1, 4, 8, 16, 16), TIME, (1, 1, 64), (1, 3)]),
    "diffusers/uvit": ("diffusers", "UVit2DModel", {
        "hidden_size": 128, "cond_embed_dim": 64, "encoder_hidden_size": 64, "vocab_size": 64, "codebook_size": 60,
        "block_out_channels": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256, "micro_cond_encode_dim": 16,
        "micro_cond_embed_dim": 16 * 5, "in_channels": 64, "sample_size": 16}, [ids(60, 1, 16, 16), (1, 16, 64), (1, 64), (1, 5)]),
    "diffusers/controlnet": ("diffusers", "ControlNetModel", {
        "block_out_channels": (64, 128), "layers_per_block": 1, "cross_attention_dim": 128, "attention_head_dim": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "conditioning_embedding_out_channels": (16, 32, 96, 256)},
        [LATENT, TIME, (1, 32, 128), (1, 3, 256, 256)]),
    "diffusers/vae": ("diffusers", "AutoencoderKL", VAE, [SMALL]),
    "diffusers/vae_tiny": ("diffusers", "AutoencoderTiny", {}, [(1, 3, 128, 128)]),
    "diffusers/vae_asymmetric": ("diffusers", "AsymmetricAutoencoderKL", {
        "down_block_types": ("DownEncoderBlock2D",) * 2, "down_block_out_channels": (32, 64), "up_block_types": ("UpDecoderBlock2D",) * 2,
        "up_block_out_channels": (32, 64)}, [SMALL]),
    "diffusers/vae_dc": ("diffusers", "AutoencoderDC", {
        "latent_channels": 8, "attention_head_dim": 8, "encoder_block_out_channels": (32, 64, 64), "decoder_block_out_channels": (32, 64, 64),
        "encoder_block_types": ("ResBlock", "ResBlock", "EfficientViTBlock"), "encoder_layers_per_block": (1, 1, 1),
        "decoder_block_types": ("ResBlock", "ResBlock", "EfficientViTBlock"), "decoder_layers_per_block": (1, 1, 1),
        "encoder_qkv_multiscales": ((), (), (5,)), "decoder_qkv_multiscales": ((), (), (5,)),
        "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu"}, [SMALL]),
    "diffusers/vae_temporal": ("diffusers", "AutoencoderKLTemporalDecoder", {
        "block_out_channels": (32, 64), "layers_per_block": 1, "down_block_types": ("DownEncoderBlock2D",) * 2}, [SMALL]),
    "diffusers/vae_cogvideox": ("diffusers", "AutoencoderKLCogVideoX", {
        "block_out_channels": (32, 32, 32, 64), "layers_per_block": 1, "norm_num_groups": 8, "latent_channels": 4}, [(1, 3, 5, 32, 32)]),
    "diffusers/vae_mochi": ("diffusers", "AutoencoderKLMochi", {
        "encoder_block_out_channels": (32, 32, 32, 32), "decoder_block_out_channels": (32, 32, 32, 32), "latent_channels": 4,
        "layers_per_block": (1, 1, 1, 1, 1)}, [(1, 3, 7, 32, 32)]),
    "diffusers/vae_ltx": ("diffusers", "AutoencoderKLLTXVideo", {
        "block_out_channels": (16, 32, 32, 32), "decoder_block_out_channels": (16, 32, 32, 32), "latent_channels": 8,
        "layers_per_block": (1, 1, 1, 1, 1), "decoder_layers_per_block": (1, 1, 1, 1, 1)}, [(1, 3, 9, 32, 32)]),
    "diffusers/vae_magvit": ("diffusers", "AutoencoderKLMagvit", {
        "block_out_channels": (32, 32, 64, 64), "layers_per_block": 1, "norm_num_groups": 8, "latent_channels": 4}, [(1, 3, 5, 32, 32)]),
    "diffusers/vae_wan": ("diffusers", "AutoencoderKLWan", {"base_dim": 16, "z_dim": 4, "num_res_blocks": 1}, [(1, 3, 5, 32, 32)]),
    "diffusers/vq": ("diffusers", "VQModel", {**VAE, "num_vq_embeddings": 64, "latent_channels": 3}, [SMALL]),
    "diffusers/oobleck": ("diffusers", "AutoencoderOobleck", {
        "encoder_hidden_size": 16, "decoder_channels": 16, "decoder_input_channels": 8, "channel_multiples": [1, 2, 4],
        "downsampling_ratios": [2, 4, 4]}, [(1, 2, 4096)]),
    "diffusers/dit": ("diffusers", "DiTTransformer2DModel", {**HEADS, "sample_size": 32, "in_channels": 4, "num_embeds_ada_norm": 1000},
                      [LATENT, TIME, ids(1000, 1)]),
    "diffusers/pixart": ("diffusers", "PixArtTransformer2DModel", {
        **HEADS, "in_channels": 4, "cross_attention_dim": 128, "caption_channels": 64, "sample_size": 32},
        {"hidden_states": LATENT, "encoder_hidden_states": (1, 16, 64), "timestep": TIME}),
    "diffusers/sana": ("diffusers", "SanaTransformer2DModel", {
        **HEADS, "in_channels": 8, "num_cross_attention_heads": 4, "cross_attention_head_dim": 32, "cross_attention_dim": 128,
        "caption_channels": 64, "sample_size": 32}, [(1, 8, 32, 32), (1, 16, 64), TIME]),
    "diffusers/sd3": ("diffusers", "SD3Transformer2DModel", {
        **HEADS, "in_channels": 4, "joint_attention_dim": 64, "caption_projection_dim": 128, "pooled_projection_dim": 64,
        "sample_size": 32, "pos_embed_max_size": 32}, [LATENT, (1, 16, 64), (1, 64), TIME]),
    "diffusers/auraflow": ("diffusers", "AuraFlowTransformer2DModel", {
        "num_attention_heads": 4, "attention_head_dim": 32, "num_mmdit_layers": 1, "num_single_dit_layers": 1, "joint_attention_dim": 64,
        "caption_projection_dim": 128, "sample_size": 32, "pos_embed_max_size": 256}, [LATENT, (1, 16, 64), (1,)]),
    "diffusers/lumina2": ("diffusers", "Lumina2Transformer2DModel", {
        "hidden_size": 96, "num_layers": 1, "num_refiner_layers": 1, "num_attention_heads": 4, "num_kv_heads": 2, "cap_feat_dim": 64,
        "sample_size": 32, "in_channels": 4, "axes_dim_rope": (8, 8, 8), "axes_lens": (64, 64, 64)},
        [LATENT, (1,), (1, 16, 64), ones(1, 16)]),
    "diffusers/flux": ("diffusers", "FluxTransformer2DModel", {
        "in_channels": 16, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 32, "num_attention_heads": 4,
        "joint_attention_dim": 64, "pooled_projection_dim": 64, "axes_dims_rope": (8, 12, 12), "patch_size": 1},
        {"hidden_states": (1, 256, 16), "encoder_hidden_states": (1, 16, 64), "pooled_projections": (1, 64), "timestep": (1,),
         "img_ids": (256, 3), "txt_ids": (16, 3)}),
    "diffusers/ltx": ("diffusers", "LTXVideoTransformer3DModel", {
        **HEADS, "in_channels": 16, "out_channels": 16, "cross_attention_dim": 128, "caption_channels": 64},
        {"hidden_states": (1, 128, 16), "encoder_hidden_states": (1, 16, 64), "timestep": TIME,
         "encoder_attention_mask": ones(1, 16)}, {"num_frames": 2, "height": 8, "width": 8}),
    "diffusers/cogvideox": ("diffusers", "CogVideoXTransformer3DModel", {
        **HEADS, "in_channels": 4, "out_channels": 4, "time_embed_dim": 64, "text_embed_dim": 64, "sample_width": 16, "sample_height": 16,
        "sample_frames": 5, "max_text_seq_length": 16}, [(1, 2, 4, 16, 16), (1, 16, 64), TIME]),
    "diffusers/wan": ("diffusers", "WanTransformer3DModel", {
        **HEADS, "in_channels": 4, "out_channels": 4, "text_dim": 64, "freq_dim": 32, "ffn_dim": 256, "rope_max_seq_len": 64},
        [(1, 4, 2, 16, 16), TIME, (1, 16, 64)]),
    "diffusers/latte": ("diffusers", "LatteTransformer3DModel", {
        **HEADS, "in_channels": 4, "out_channels": 8, "caption_channels": 64, "cross_attention_dim": 128, "sample_size": 16, "patch_size": 2,
        "video_length": 4, "norm_type": "ada_norm_single", "num_embeds_ada_norm": 1000},
        {"hidden_states": (1, 4, 4, 16, 16), "timestep": TIME, "encoder_hidden_states": (1, 16, 64)}),
    "diffusers/prior": ("diffusers", "PriorTransformer", {**HEADS, "embedding_dim": 64, "num_embeddings": 16},
                        {"hidden_states": (1, 64), "timestep": TIME, "proj_embedding": (1, 64), "encoder_hidden_states": (1, 16, 64)}),
    "diffusers/stable_audio": ("diffusers", "StableAudioDiTModel", {
        "sample_size": 128, "in_channels": 16, "num_layers": 2, "attention_head_dim": 32, "num_attention_heads": 4,
        "num_key_value_attention_heads": 2, "out_channels": 16, "cross_attention_dim": 64, "time_proj_dim": 32,
        "global_states_input_dim": 64, "cross_attention_input_dim": 64},
        {"hidden_states": (1, 16, 128), "timestep": (1,), "encoder_hidden_states": (1, 16, 64), "global_hidden_states": (1, 1, 64)}),
    # segmentation
    **{f"smp/{kind}_{encoder}": ("segmentation_models_pytorch", kind, {"encoder_name": encoder, "encoder_weights": None, "classes": 8},
                                 [(1, 3, 128, 128)])
       for kind, encoder in (("Unet", "resnet18"), ("UnetPlusPlus", "timm-mobilenetv3_small_100"), ("MAnet", "efficientnet-b0"),
                             ("Linknet", "vgg11"), ("FPN", "densenet121"), ("PSPNet", "mobilenet_v2"), ("PAN", "resnet18"),
                             ("DeepLabV3", "resnet18"), ("DeepLabV3Plus", "timm-regnety_002"), ("UPerNet", "mit_b0"),
                             ("Segformer", "mit_b0"), ("DPT", "tu-resnet10t"), ("Unet", "dpn68"), ("Unet", "mobileone_s0"),
                             ("FPN", "xception"), ("Unet", "inceptionv4"))},
    # medical volumes and pictures
    "monai/unet": ("monai.networks.nets", "UNet", {"spatial_dims": 3, "in_channels": 1, "out_channels": 2, "channels": (8, 16, 32, 64),
                   "strides": (2, 2, 2), "num_res_units": 1}, [(1, 1, 48, 48, 48)]),
    "monai/basic_unet": ("monai.networks.nets", "BasicUNet", {"spatial_dims": 3, "features": (8, 8, 16, 32, 64, 8)}, [(1, 1, 48, 48, 48)]),
    "monai/basic_unet_plus_plus": ("monai.networks.nets", "BasicUNetPlusPlus", {"spatial_dims": 2, "in_channels": 3}, [(1, 3, 96, 96)]),
    "monai/attention_unet": ("monai.networks.nets", "AttentionUnet", {
        "spatial_dims": 3, "in_channels": 1, "out_channels": 2, "channels": (8, 16, 32), "strides": (2, 2)}, [(1, 1, 32, 32, 32)]),
    "monai/dyn_unet": ("monai.networks.nets", "DynUNet", {
        "spatial_dims": 3, "in_channels": 1, "out_channels": 2, "kernel_size": (3, 3, 3), "strides": (1, 2, 2),
        "upsample_kernel_size": (2, 2), "filters": (8, 16, 32), "res_block": True}, [(1, 1, 32, 32, 32)]),
    "monai/seg_resnet": ("monai.networks.nets", "SegResNet", {"init_filters": 8}, [(1, 1, 48, 48, 48)]),
    "monai/vnet": ("monai.networks.nets", "VNet", {}, [(1, 1, 32, 32, 32)]),
    "monai/unetr": ("monai.networks.nets", "UNETR", {
        "in_channels": 1, "out_channels": 2, "img_size": (48, 48, 48), "feature_size": 8, "hidden_size": 96, "mlp_dim": 192, "num_heads": 4},
        [(1, 1, 48, 48, 48)]),
    "monai/swin_unetr": ("monai.networks.nets", "SwinUNETR", {
        "in_channels": 1, "out_channels": 2, "feature_size": 12, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 8)}, [(1, 1, 64, 64, 64)]),
    "monai/med_next": ("monai.networks.nets", "MedNeXt", {"init_filters": 8, "blocks_down": (1, 1, 1, 1), "blocks_up": (1, 1, 1, 1)},
                       [(1, 1, 32, 32, 32)]),
    "monai/high_res": ("monai.networks.nets", "HighResNet", {}, [(1, 1, 24, 24, 24)]),
    "monai/hovernet": ("monai.networks.nets", "HoVerNet", {"mode": "fast", "out_classes": 4}, [(1, 3, 256, 256)]),
    "monai/senet": ("monai.networks.nets", "SEResNet50", {"spatial_dims": 2, "in_channels": 3, "num_classes": 10}, [(1, 3, 128, 128)]),
    "monai/densenet3d": ("monai.networks.nets", "DenseNet121", {"spatial_dims": 3, "in_channels": 1, "out_channels": 4}, [(1, 1, 32, 32, 32)]),
    "monai/diffusion": ("monai.networks.nets", "DiffusionModelUNet", {
        "spatial_dims": 2, "in_channels": 1, "out_channels": 1, "channels": (32, 64), "attention_levels": (False, True), "num_res_blocks": 1,
        "num_head_channels": 32}, [(1, 1, 32, 32), TIME]),
    "monai/vqvae": ("monai.networks.nets", "VQVAE", {
        "spatial_dims": 3, "in_channels": 1, "out_channels": 1, "channels": (16, 32), "num_res_channels": (16, 32), "num_res_layers": 1,
        "downsample_parameters": ((2, 4, 1, 1),) * 2, "upsample_parameters": ((2, 4, 1, 1, 0),) * 2}, [(1, 1, 32, 32, 32)]),
    "monai/voxelmorph": ("monai.networks.nets", "VoxelMorphUNet", {
        "spatial_dims": 3, "in_channels": 2, "unet_out_channels": 8, "channels": (8, 8, 8, 8, 8, 8), "final_conv_channels": (8,)},
        [(1, 2, 32, 32, 32)]),
    "monai/ahnet": ("monai.networks.nets", "AHNet", {"layers": (1, 1, 1, 1), "spatial_dims": 3, "psp_block_num": 2}, [(1, 1, 64, 64, 32)]),
    "monai/daf3d": ("monai.networks.nets", "DAF3D", {"in_channels": 1, "out_channels": 2}, [(1, 1, 32, 32, 32)]),
}


def rowed(name):
    module, of, arguments, inputs, *more = ROWS[name]
    network = getattr(importlib.import_module(module), of)(**arguments)
    names = tuple(inputs) if isinstance(inputs, dict) else ()
    values = inputs.values() if names else inputs
    return Tensors(network, names, **(more[0] if more else {})), tuple(one() if callable(one) else torch.randn(one) for one in values)


NETWORKS = {f"packages/{name}": lambda name=name: rowed(name) for name in ROWS}
