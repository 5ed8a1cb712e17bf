"""Networks of packages that one installs oneself (timm and others), small variants or few layers: NETWORKS, by name a function
that gives a module and its inputs. A package that is not there is the reason of a network that was not exported."""

import importlib

import torch
from tensors import Tensors

#: timm's name, what differs from its defaults, and the extent of the picture.
TIMM = {
    name: ({}, 224) for name in (
        "coatnet_pico_rw_224 coat_lite_tiny convit_tiny convnextv2_atto convnext_zepto_rms crossvit_9_dagger_240 "
        "csatv2 cspresnext50 cs3darknet_focus_s dla46x_c dla60_res2next dpn48b eca_nfnet_l0 nf_regnet_b0 eca_vovnet39b "
        "ese_vovnet19b_slim_dw ecaresnext26t_32x4d resnetblur18 resnetaa34d edgenext_xx_small efficientformer_l1 "
        "efficientformerv2_s0 efficientnet_b0_g16_evos efficientnet_cc_b0_4e efficientnet_es efficientvim_m1 efficientvit_b0 "
        "efficientvit_m0 fasternet_t0 fastvit_t8 fbnetv3_b mobilenetv4_conv_blur_medium mobilenetv4_hybrid_medium "
        "focalnet_tiny_srf gcvit_xxtiny gernet_s ghostnetv2_100 ghostnetv3_050 gmixer_12_224 gmlp_ti16_224 resmlp_12_224 "
        "hardcorenas_a hgnetv2_b0 hrnet_w18_small iformer_t inception_next_atto lcnetv2_small legacy_seresnext26_32x4d "
        "levit_128s levit_conv_128s lowformer_b0 mambaout_femto mixnet_s mobileone_s0 mobilevitv2_050 "
        "mvitv2_tiny nest_tiny nextvit_small pit_ti_224 poolformer_s12 poolformerv2_s12 pvt_v2_b0 pvt_v2_b2_li rdnet_tiny "
        "regnetv_040 regnetz_005 repghostnet_050 repvgg_a0 repvit_m0_9 res2net50_14w_8s resnest14d resnetv2_18d "
        "resnetv2_50d_frn rexnetr_100 selecsls42b sequencer2d_s shvit_s1 skresnet18 starnet_s1 swiftformer_xs "
        "tinynet_a tiny_vit_5m_224 tresnet_m twins_pcpvt_small twins_svt_small visformer_tiny vit_tiny_r_s16_p8_224 xception41p "
        "xcit_nano_12_p16_224 caformer_s18 convformer_s18 cpubone_nano cspnext_tiny densenetblur121d inception_v4 "
        "mobilenet_edgetpu_v2_xs spnasnet_100 semnasnet_050 mnasnet_small fbnetc_100 gc_efficientnetv2_rw_t "
        "lambda_resnet26t gcresnext26ts "
        "resnet50_clip_gap resnet51q").split()
} | {
    name: ({}, 256) for name in ("bat_resnext26ts halonet26t eca_halonext26ts botnet26t_256 maxvit_pico_rw_256 lambda_resnet26rpt_256 "
                                 "sebotnet33ts_256").split()
} | {
    "beit_base_patch16_224": ({"depth": 2}, 224), "cait_xxs24_224": ({"depth": 4}, 224), "convmixer_768_32": ({}, 112),
    "davit_tiny": ({"depths": (1, 1, 2, 1)}, 224), "deit3_small_patch16_224": ({"depth": 3}, 224),
    "eva02_tiny_patch14_224": ({"depth": 3}, 224), "flexivit_small": ({"depth": 3}, 240), "hiera_tiny_224": ({}, 224),
    "naflexvit_base_patch16_gap": ({"depth": 2}, 224), "samvit_base_patch16_224": ({"depth": 3, "global_attn_indexes": (2,)}, 224),
    "sam2_hiera_tiny": ({}, 224), "swinv2_cr_tiny_ns_224": ({"depths": (1, 1, 2, 1)}, 224),
    "swin_s3_tiny_224": ({"depths": (1, 1, 2, 1)}, 224), "test_vit_relpos": ({}, 160), "tnt_s_patch16_224": ({"depth": 3}, 224),
    "vit_base_patch16_dinov3": ({"depth": 2}, 224), "vit_base_patch16_rope_mixed_224": ({"depth": 2}, 224),
    "vit_relpos_small_patch16_rpn_224": ({"depth": 3}, 224), "vit_srelpos_small_patch16_224": ({"depth": 3}, 224),
    "vitamin_small_224": ({}, 224), "volo_d1_224": ({}, 224), "qwen3_vit_88m": ({"depth": 2}, 224),
    "gemma4_vit_167m": ({"depth": 2}, 224), "deepseek_vit_412m": ({"depth": 2}, 224), "vit_base_mci_224": ({"depth": 2}, 224),
    "vit_small_patch16_18x2_224": ({"depth": 2}, 224), "vit_dlittle_patch16_reg1_gap_256": ({"depth": 3}, 256),
    "vit_dwee_patch16_reg1_gap_256": ({"depth": 3}, 256), "nasnetalarge": ({}, 128),
}


def of_timm(name):
    timm = importlib.import_module("timm")
    changes, extent = TIMM[name]
    network = timm.create_model(name, **changes)
    return Tensors(network), (torch.randn(1, 3, extent, extent),)


NETWORKS = {f"packages/timm/{name}": lambda name=name: of_timm(name) for name in TIMM}
