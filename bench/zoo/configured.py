"""Networks of torchvision and transformers with random configurations: widths, heads, depths, lengths and sides that no usual model
has. made(seed) as in random_networks; name them configured/SEED."""

import random

import language
import torch
import torchvision
from tensors import Tensors, words
from torch import nn
from torchvision import models


def even(r, low, high, step):
    return step * r.randint(low // step, high // step)


def picture(r, most=224):
    s = r.choice([s for s in (64, 75, 96, 100, 128, 150, 160, 192, 200, 224) if s <= most])
    return (torch.randn(r.choice([1, 1, 1, 2, 3]), 3, s, r.choice([s, s, s + 32])),)


def resnet(r):
    block = r.choice([models.resnet.BasicBlock, models.resnet.Bottleneck])
    grouped = {"groups": r.choice([1, 2, 8, 16]), "width_per_group": r.choice([8, 16, 32, 64])} if block is models.resnet.Bottleneck else {}
    dilated = [False, r.random() < 0.3, r.random() < 0.3] if block is models.resnet.Bottleneck else None
    return models.ResNet(block, [r.randint(1, 3) for _ in range(4)], num_classes=r.choice([7, 101, 1000]), replace_stride_with_dilation=dilated,
                         **grouped), picture(r)


def mobilenet(r):
    rows = [[r.choice([1, 2, 3, 6]), even(r, 8 * (i + 1), 40 * (i + 1), 4), r.randint(1, 3), r.choice([1, 2])] for i in range(4)]
    return models.MobileNetV2(width_mult=r.choice([0.35, 0.6, 1.0, 1.3]), inverted_residual_setting=rows, round_nearest=r.choice([4, 8])), picture(r)


def mobilenet3(r):
    from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

    rows, c, wide = [], 16, r.choice([1.0, 0.75])
    for i in range(r.randint(4, 7)):
        to = c + even(r, 0, 24, 8)
        rows.append(InvertedResidualConfig(c, r.choice([3, 5, 7]), even(r, 2 * c, 6 * c, 8), to, r.random() < 0.5, r.choice(["RE", "HS"]),
                                           r.choice([1, 1, 2]), 1, wide))
        c = to
    return MobileNetV3(rows, last_channel=even(r, 100, 600, 4)), picture(r)


def densenet(r):
    return models.DenseNet(r.choice([12, 20, 24, 32]), tuple(r.randint(2, 6) for _ in range(r.choice([3, 4]))), r.choice([24, 48, 64]),
                           bn_size=r.choice([2, 4])), picture(r, 192)


def regnet(r):
    params = models.regnet.BlockParams.from_init_params(depth=r.randint(6, 14), w_0=8 * r.randint(3, 8), w_a=r.uniform(12, 40), w_m=r.uniform(2, 2.8),
                                                        group_width=r.choice([8, 16, 24]), se_ratio=r.choice([None, 0.25]))
    return models.RegNet(params), picture(r)


def convnext(r):
    from torchvision.models.convnext import CNBlockConfig

    widths = [even(r, 24, 64, 4) * 2**i for i in range(3)] + [None]
    rows = [CNBlockConfig(a, b, r.randint(1, 3)) for a, b in zip(widths, widths[1:])]
    return models.ConvNeXt(rows), picture(r)


def efficientnet(r):
    from torchvision.models.efficientnet import FusedMBConvConfig, MBConvConfig

    rows, c = [], 16
    for i in range(r.randint(3, 5)):
        to = c + even(r, 8, 40, 8)
        kind = FusedMBConvConfig if i < 2 and r.random() < 0.5 else MBConvConfig
        rows.append(kind(r.choice([1, 4, 6]), r.choice([3, 5]), r.choice([1, 2]), c, to, r.randint(1, 2), *([1.0, 1.0] if kind is MBConvConfig else [])))
        c = to
    return models.EfficientNet(rows, 0.1, last_channel=even(r, 200, 800, 8)), picture(r)


def swin(r):
    heads = r.choice([2, 3, 4])
    side = r.choice([4, 7, 8])
    block = r.choice([models.swin_transformer.SwinTransformerBlock, models.swin_transformer.SwinTransformerBlockV2])
    extra = {"downsample_layer": models.swin_transformer.PatchMergingV2} if "V2" in block.__name__ else {}
    return models.SwinTransformer([4, 4], heads * r.choice([16, 24, 32]), [1, r.randint(1, 2), 2], [heads, 2 * heads, 4 * heads], [side, side],
                                  r.choice([2.0, 3.0, 4.0]), block=block, **extra), picture(r, 192)


def vit(r):
    heads, patch = r.choice([2, 3, 5, 6]), r.choice([8, 14, 16])
    s = patch * r.randint(6, 14)
    network = models.VisionTransformer(s, patch, r.randint(2, 4), heads, heads * even(r, 16, 72, 8), even(r, 100, 900, 4))
    nn.init.normal_(network.heads.head.weight, std=0.02)
    return network, (torch.randn(r.choice([1, 1, 2]), 3, s, s),)


def others(r):
    return r.choice([
        lambda: (models.ShuffleNetV2([r.randint(2, 4) for _ in range(3)], [24, *(even(r, 40 * 2**i, 100 * 2**i, 4) for i in range(3)), 500]), picture(r)),
        lambda: (models.MNASNet(r.choice([0.3, 0.7, 1.1])), picture(r)),
        lambda: (models.SqueezeNet(r.choice(["1_0", "1_1"])), picture(r)),
        lambda: (models.VideoResNet(models.video.resnet.BasicBlock, [r.choice([models.video.resnet.Conv3DSimple, models.video.resnet.Conv2Plus1D])] * 4,
                                    [1, 1, 1, 1], models.video.resnet.BasicStem), (torch.randn(1, 3, 8, 64, 80),)),
        lambda: (models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=r.choice([2, 21])), picture(r)),
        lambda: (models.segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=r.choice([2, 21])), picture(r))])()


def replaced(value, r, numbers):
    """A configuration of `language` with other widths; every count that depends on them goes with it."""
    if isinstance(value, dict):
        return {key: numbers["kv"] if key == "num_key_value_heads" else numbers["head"] if key in ("head_dim", "d_kv", "d_head") else
                numbers["inner"] if key in ("intermediate_size", "d_ff", "ffn_dim", "d_inner", "hidden_dim", "moe_intermediate_size") or
                key.endswith("ffn_dim") else replaced(one, r, numbers) for key, one in value.items()}
    if isinstance(value, int) and not isinstance(value, bool):
        return {language.WIDTH: numbers["width"], language.HEADS: numbers["heads"], 4 * language.WIDTH: numbers["inner"]}.get(value, value)
    return value


def numbers(r):
    heads = r.choice([2, 3, 4, 5, 8])
    head = r.choice([16, 20, 24, 32, 40, 48, 64, 80])
    return {"heads": heads, "head": head, "width": heads * head, "inner": even(r, heads * head, 4 * heads * head, 4),
            "kv": r.choice([k for k in range(1, heads + 1) if heads % k == 0])}


def text(r):
    kind = r.choice([k for k in language.TEXT if k not in ("mobilebert", "mamba", "mamba2", "rwkv", "recurrent_gemma", "codegen", "gptj", "longformer")])
    of, changes = language.TEXT[kind]
    length = r.choice([9, 17, 33, 50, 64, 100, 128, 150])
    changes = replaced(changes, r, numbers(r))
    if "segment_means_seq_len" in changes:
        length = changes["segment_means_seq_len"] = 64
    batch = r.choice([1, 1, 1, 2, 3])
    inputs = {"input_ids": words(language.VOCABULARY, length, batch)}
    if kind != "fnet" and r.random() < 0.5:
        inputs["attention_mask"] = torch.ones(batch, length, dtype=torch.int64)
    return Tensors(language.configured(kind, of, changes), inputs), tuple(inputs.values())


def pair(r):
    kind = r.choice(["bart", "m2m_100", "marian", "mbart", "pegasus", "t5", "umt5", "mt5"])
    inputs = {"input_ids": words(language.VOCABULARY, r.choice([13, 40, 100])), "decoder_input_ids": words(language.VOCABULARY, r.choice([5, 16, 30]))}
    return Tensors(language.configured(kind, "AutoModel", replaced(language.PAIRS[kind], r, numbers(r))), inputs), tuple(inputs.values())


def detector(r):
    """Two-stage and one-stage detectors of small backbones; what they find of noise depends on weights, so their parts are asked."""
    backbone = models.detection.backbone_utils.resnet_fpn_backbone(backbone_name=r.choice(["resnet18", "resnet50"]), weights=None, trainable_layers=5)
    classes = r.choice([3, 21, 91])
    head = models.detection.retinanet.RetinaNetHead(256, 9, classes, norm_layer=r.choice([None, nn.BatchNorm2d]))

    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = backbone, head

        def forward(self, x):
            found = self.head(list(self.backbone(x).values())[:3])
            return found["cls_logits"].sigmoid().amax(-1), torchvision.ops.clip_boxes_to_image(found["bbox_regression"], (128, 128))
    return Parts(), (torch.randn(1, 3, *[r.choice([96, 128, 160])] * 2),)


FAMILIES = [resnet, resnet, mobilenet, mobilenet3, densenet, regnet, convnext, efficientnet, swin, vit, others, text, text, text, text, text, pair, pair,
            detector]


def made(seed):
    """The network and its inputs. The caller seeds torch."""
    r = random.Random(int(seed))
    return r.choice(FAMILIES)(r)
