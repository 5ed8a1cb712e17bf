"""More networks of packages that one installs oneself: NETWORKS, by name a function that gives a module and its inputs.
Restorers (spandrel), transformers of pictures and of texts, sounds, series, tables and graphs, all small."""

import importlib

import torch
from other_packages import IMAGE, VIT, ids
from tensors import Tensors

TEXT = ids(1000, 1, 64)
SMALL = (1, 3, 64, 64)
SR = {"upscale": 2, "img_size": 64, "window_size": 8, "embed_dim": 60, "depths": (2, 2), "num_heads": (6, 6)}


def of(module, name, *arguments, **named):
    return lambda: getattr(importlib.import_module(module), name)(*arguments, **named)


def restorer(folder, file, name, **named):
    path = f"spandrel.architectures.{folder}" + (f".{file}" if file else "")
    return of(path, name, **named)


def wrapped(**named):
    """A text transformer of x-transformers: what differs from the plain encoder or decoder."""
    def make():
        import x_transformers

        kind = getattr(x_transformers, named.pop("kind", "Decoder"))
        outer = {key: named.pop(key) for key in list(named) if key in ("use_abs_pos_emb", "num_memory_tokens", "scaled_sinu_pos_emb")}
        return x_transformers.TransformerWrapper(num_tokens=1000, max_seq_len=128, **outer,
                                                 attn_layers=kind(dim=256, depth=2, heads=4, **named))
    return make


def graph(name, *arguments, **named):
    return of("torch_geometric.nn", name, *arguments, **named)


#: What makes the network, and the inputs as in other_packages.ROWS.
ROWS = {
    "spandrel/swinir": (restorer("SwinIR", "__arch.SwinIR", "SwinIR", **SR), [SMALL]),
    "spandrel/swin2sr": (restorer("Swin2SR", "__arch.Swin2SR", "Swin2SR", **SR), [SMALL]),
    "spandrel/hat": (restorer("HAT", "__arch.HAT", "HAT", **SR), [SMALL]),
    "spandrel/dat": (restorer("DAT", "__arch.DAT", "DAT", upscale=2, img_size=64, split_size=(8, 8), embed_dim=60, depth=(2,), num_heads=(6,)),
                     [SMALL]),
    "spandrel/atd": (restorer("ATD", "__arch.atd_arch", "ATD", upscale=2, img_size=64, window_size=8, embed_dim=60, depths=(2,), num_heads=(6,)),
                     [SMALL]),
    "spandrel/drct": (restorer("DRCT", "__arch.drct_arch", "DRCT", upscale=2, img_size=64, window_size=8, embed_dim=60, depths=(6,),
                               num_heads=(6,), gc=16, upsampler="pixelshuffle"), [SMALL]),
    "spandrel/craft": (restorer("CRAFT", "__arch.CRAFT", "CRAFT", upscale=2), [SMALL]),
    "spandrel/rgt": (restorer("RGT", "__arch.rgt", "RGT", upscale=2, img_size=64, embed_dim=60, depth=(2,), num_heads=(6,), split_size=(8, 8)),
                     [SMALL]),
    "spandrel/grl": (restorer("GRL", "__arch.grl", "GRL", img_size=64, upscale=2, embed_dim=64, depths=[2], num_heads_window=[2],
                              num_heads_stripe=[2]), [SMALL]),
    "spandrel/omnisr": (restorer("OmniSR", "__arch.OmniSR", "OmniSR", num_feat=32, res_num=1), [SMALL]),
    "spandrel/ditn": (restorer("DITN", "__arch.DITN_Real", "DITN_Real", upscale=2, dim=32), [SMALL]),
    "spandrel/dctlsa": (restorer("DCTLSA", "__arch.dctlsa", "DCTLSA"), [SMALL]),
    "spandrel/nafnet": (restorer("NAFNet", "__arch.NAFNet_arch", "NAFNet", width=16, middle_blk_num=1, enc_blk_nums=[1, 1], dec_blk_nums=[1, 1]),
                        [(1, 3, 128, 128)]),
    "spandrel/scunet": (restorer("SCUNet", "__arch.SCUNet", "SCUNet", config=[1] * 7, dim=64), [SMALL]),
    "spandrel/fftformer": (restorer("FFTformer", "__arch.fftformer_arch", "FFTformer", dim=16, num_blocks=[1, 1, 1]), [SMALL]),
    "spandrel/uformer": (restorer("Uformer", "__arch.Uformer", "Uformer", img_size=128, embed_dim=16, depths=[1] * 9), [(1, 3, 128, 128)]),
    "spandrel/kbnet": (restorer("KBNet", "__arch.kbnet_s", "KBNet_s", width=16, middle_blk_num=1, enc_blk_nums=[1, 1], dec_blk_nums=[1, 1]), [SMALL]),
    "spandrel/lama": (restorer("LaMa", "__arch.LaMa", "LaMa", in_nc=4), [SMALL, (1, 1, 64, 64)]),
    "spandrel/retinexformer": (restorer("RetinexFormer", "__arch.retinexformer_arch", "RetinexFormer", n_feat=16), [SMALL]),
    "spandrel/hvicidnet": (restorer("HVICIDNet", "__arch.cidnet", "CIDNet", channels=[16, 16, 32, 64]), [SMALL]),
    "spandrel/mixdehaze": (restorer("MixDehazeNet", "__arch.MixDehazeNet", "MixDehazeNet", embed_dims=[12, 24, 48, 24, 12], depths=[1] * 5), [SMALL]),
    "spandrel/seemore": (restorer("SeemoRe", "__arch.seemore_arch", "SeemoRe", num_layers=2), [SMALL]),
    "spandrel/safmn": (restorer("SAFMN", "__arch.safmn", "SAFMN", dim=36), [SMALL]),
    "spandrel/span": (restorer("SPAN", "__arch.span", "SPAN", num_in_ch=3, num_out_ch=3), [SMALL]),
    "spandrel/plksr": (restorer("PLKSR", "__arch.PLKSR", "PLKSR", n_blocks=3), [SMALL]),
    "spandrel/realplksr": (restorer("PLKSR", "__arch.RealPLKSR", "RealPLKSR", n_blocks=3, dysample=True), [SMALL]),
    "spandrel/mosr": (restorer("MoSR", "__arch.mosr_arch", "MoSR", n_block=3), [SMALL]),
    "spandrel/fdat": (restorer("FDAT", "__arch.fdat", "FDAT", embed_dim=60, num_groups=1), [SMALL]),
    "spandrel/esrgan": (restorer("ESRGAN", "__arch.RRDB", "RRDBNet", num_blocks=1, num_filters=32), [SMALL]),
    "spandrel/rcan": (restorer("RCAN", "__arch.rcan_arch", "RCAN", n_resgroups=1, n_resblocks=2), [SMALL]),
    "spandrel/realcugan": (restorer("RealCUGAN", "__arch.upcunet_v3", "UpCunet2x"), [SMALL]),
    "spandrel/fbcnn": (restorer("FBCNN", "__arch.FBCNN", "FBCNN", nb=1), [SMALL]),
    # transformers of pictures
    "vit/cct": (of("vit_pytorch.cct", "CCT", img_size=112, embedding_dim=192, num_layers=3, num_heads=4), [(1, 3, 112, 112)]),
    "vit/cvt": (of("vit_pytorch.cvt", "CvT", num_classes=100, s3_depth=2), [IMAGE]),
    "vit/crossformer": (of("vit_pytorch.crossformer", "CrossFormer", dim=(32, 64, 128, 256), depth=(1, 1, 2, 1)), [IMAGE]),
    "vit/regionvit": (of("vit_pytorch.regionvit", "RegionViT", dim=(32, 64, 128, 256), depth=(1, 1, 2, 1)), [IMAGE]),
    "vit/rvt": (of("vit_pytorch.rvt", "RvT", **VIT), [IMAGE]),
    "vit/scalable": (of("vit_pytorch.scalable_vit", "ScalableViT", num_classes=100, dim=32, heads=(1, 2, 4, 8), depth=(1, 1, 2, 1),
                        reduction_factor=(8, 4, 2, 1), window_size=(56, 28, 14, 7)), [IMAGE]),
    "vit/sep": (of("vit_pytorch.sep_vit", "SepViT", num_classes=100, dim=32, dim_head=32, heads=(1, 2, 4, 8), depth=(1, 1, 2, 1)), [IMAGE]),
    "vit/t2t": (of("vit_pytorch.t2t", "T2TViT", image_size=112, num_classes=100, dim=128, depth=2, heads=4, mlp_dim=256), [(1, 3, 112, 112)]),
    "vit/look": (of("vit_pytorch.look_vit", "LookViT", dim=128, image_size=192, num_classes=100, depth=2), [(1, 3, 192, 192)]),
    "vit/adaptive_tokens": (of("vit_pytorch.ats_vit", "ViT", **VIT, max_tokens_per_depth=(128, 64, 32)), [IMAGE]),
    "vit/fft": (of("vit_pytorch.simple_vit_with_fft", "SimpleViT", freq_patch_size=16, **VIT), [IMAGE]),
    "vit/nd_rotary": (of("vit_pytorch.vit_nd_rotary", "ViTND", ndim=3, input_shape=(8, 32, 32), patch_size=(2, 8, 8), num_classes=10, dim=128,
                         depth=2, heads=4, mlp_dim=256, channels=3), [(1, 3, 8, 32, 32)]),
    "vit/uvit": (of("vit_pytorch.simple_uvit", "SimpleUViT", **VIT), [IMAGE]),
    "vit/normalized": (of("vit_pytorch.normalized_vit", "nViT", **VIT), [IMAGE]),
    "vit/small_dataset": (of("vit_pytorch.vit_for_small_dataset", "ViT", **VIT), [IMAGE]),
    "vit/jumbo": (of("vit_pytorch.jumbo_vit", "JumboViT", **VIT), [IMAGE]),
    "vit/hyper": (of("vit_pytorch.simple_vit_with_hyper_connections", "SimpleViT", num_residual_streams=4, **VIT), [IMAGE]),
    "vit/uformer": (of("uformer_pytorch", "Uformer", dim=32, stages=2, num_blocks=1, heads=2, dim_head=32), [SMALL]),
    "vit/timesformer": (of("timesformer_pytorch", "TimeSformer", dim=128, num_frames=4, num_classes=10, image_size=64, patch_size=16, depth=2, heads=4),
                        [(1, 4, 3, 64, 64)]),
    "vit/segment_anything": (of("segment_anything.modeling", "ImageEncoderViT", img_size=256, embed_dim=192, depth=3, num_heads=4, use_rel_pos=True,
                                window_size=7, global_attn_indexes=(2,)), [(1, 3, 256, 256)]),
    "vit/facenet": (of("facenet_pytorch", "InceptionResnetV1"), [(1, 3, 160, 160)]),
    # keypoints
    "kornia/keynet": (of("kornia.feature", "KeyNet", pretrained=False), [(1, 1, 128, 128)]),
    "kornia/disk_unet": (lambda: of("kornia.feature", "DISK")().unet, [(1, 3, 96, 96)]),
    "kornia/loftr": (of("kornia.feature", "LoFTR", pretrained=None), {"image0": (1, 1, 64, 64), "image1": (1, 1, 64, 64)}),
    "kornia/xfeat": (of("kornia.feature", "XFeatModel"), [(1, 1, 128, 128)]),
    "kornia/defmo": (of("kornia.feature", "DeFMO", pretrained=False), [(1, 6, 64, 64)]),
    # texts
    "x/rotary_glu": (wrapped(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True), [TEXT]),
    "x/alibi": (wrapped(alibi_pos_bias=True, attn_num_mem_kv=4), [TEXT]),
    "x/t5_bias": (wrapped(kind="Encoder", rel_pos_bias=True, use_scalenorm=True), [TEXT]),
    "x/dynamic_bias": (wrapped(dynamic_pos_bias=True, dynamic_pos_bias_log_distance=False), [TEXT]),
    "x/sparse_topk": (wrapped(attn_sparse_topk=8, attn_kv_heads=1), [TEXT]),
    "x/macaron": (wrapped(kind="Encoder", macaron=True, use_dynamic_tanh=True), [TEXT]),
    "x/qk_norm": (wrapped(attn_qk_norm=True, rotary_xpos=True, ff_relu_squared=True), [TEXT]),
    "x/residual_attention": (wrapped(residual_attn=True, gate_residual=True, num_memory_tokens=8), [TEXT]),
    "text/performer": (of("performer_pytorch", "PerformerLM", num_tokens=1000, max_seq_len=128, dim=128, depth=2, heads=4), [TEXT]),
    "text/linformer": (of("linformer", "LinformerLM", num_tokens=1000, dim=128, seq_len=64, depth=2, k=32, heads=4), [TEXT]),
    "text/nystrom": (of("nystrom_attention", "Nystromformer", dim=128, depth=2, heads=4, dim_head=32, num_landmarks=16), [(1, 128, 128)]),
    "text/local": (of("local_attention", "LocalTransformer", num_tokens=1000, max_seq_len=128, dim=128, depth=2, local_attn_window_size=32, heads=4),
                   [TEXT]),
    "text/perceiver": (of("perceiver_pytorch", "Perceiver", num_freq_bands=6, depth=2, max_freq=10.0, num_latents=64, latent_dim=128), [(1, 64, 64, 3)]),
    "text/gmlp": (of("g_mlp_pytorch", "gMLP", num_tokens=1000, dim=128, depth=3, seq_len=64, circulant_matrix=True, causal=True), [TEXT]),
    "text/mamba": (lambda: of("mambapy.mamba", "Mamba", of("mambapy.mamba", "MambaConfig", d_model=128, n_layers=2, pscan=False)())(), [(1, 64, 128)]),
    # codes
    "codes/vq": (of("vector_quantize_pytorch", "VectorQuantize", dim=128, codebook_size=256), [(1, 256, 128)]),
    "codes/residual_vq": (of("vector_quantize_pytorch", "ResidualVQ", dim=128, num_quantizers=4, codebook_size=256), [(1, 256, 128)]),
    "codes/fsq": (of("vector_quantize_pytorch", "FSQ", levels=[8, 5, 5, 5], dim=128), [(1, 256, 128)]),
    "codes/residual_fsq": (of("vector_quantize_pytorch", "ResidualFSQ", levels=[8, 5, 5, 3], num_quantizers=4, dim=128), [(1, 256, 128)]),
    "codes/lfq": (of("vector_quantize_pytorch", "LFQ", codebook_size=1024, dim=128), [(1, 256, 128)]),
    "codes/random_projection": (of("vector_quantize_pytorch", "RandomProjectionQuantizer", dim=128, codebook_size=256, codebook_dim=16, num_codebooks=4), [(1, 256, 128)]),
}


def rowed_by(rows, name):
    make, inputs = rows[name]
    names = tuple(inputs) if isinstance(inputs, dict) else ()
    values = inputs.values() if names else inputs
    return Tensors(make(), names), tuple(one() if callable(one) else torch.randn(one) for one in values)


NETWORKS = {f"packages/{name}": lambda name=name: rowed_by(ROWS, name) for name in ROWS}
