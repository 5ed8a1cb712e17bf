"""Networks of torchvision: NETWORKS, by name a function that gives a module and its inputs."""

import torch
import torchvision
from tensors import Tensors

IMAGE, SMALL, CLIP = (1, 3, 224, 224), (1, 3, 160, 160), (1, 3, 8, 112, 112)

#: Shape of the input, and arguments beside the weights.
ROWS = {
    "convnext_tiny": (IMAGE, {}),
    "densenet169": (SMALL, {}),
    "efficientnet_b1": (SMALL, {}),
    "efficientnet_v2_s": (SMALL, {}),
    "googlenet": (SMALL, {"init_weights": True, "aux_logits": False}),
    "inception_v3": ((1, 3, 299, 299), {"init_weights": True}),
    "maxvit_t": (IMAGE, {}),
    "mnasnet0_5": (IMAGE, {}),
    "mobilenet_v2": (IMAGE, {}),
    "mobilenet_v3_large": (IMAGE, {}),
    "regnet_x_800mf": (IMAGE, {}),
    "regnet_y_800mf": (IMAGE, {}),
    "resnet34": (SMALL, {}),
    "resnet50": (IMAGE, {}),
    "resnext50_32x4d": (SMALL, {}),
    "shufflenet_v2_x1_0": (IMAGE, {}),
    "squeezenet1_0": (IMAGE, {}),
    "swin_t": (IMAGE, {}),
    "swin_v2_t": ((1, 3, 256, 256), {}),
    "vit_b_16": (IMAGE, {}),
    "deeplabv3_mobilenet_v3_large": (SMALL, {"weights_backbone": None}),
    "deeplabv3_resnet50": (SMALL, {"weights_backbone": None}),
    "fcn_resnet50": (SMALL, {"weights_backbone": None}),
    "lraspp_mobilenet_v3_large": (SMALL, {"weights_backbone": None}),
    "mc3_18": (CLIP, {}),
    "mvit_v2_s": ((1, 3, 16, 224, 224), {}),
    "r2plus1d_18": (CLIP, {}),
    "r3d_18": (CLIP, {}),
    "s3d": ((1, 3, 16, 112, 112), {}),
    "swin3d_t": ((1, 3, 8, 112, 112), {}),
}

#: Detectors: size of the square image. What they find of noise depends on weights, so few of their boxes are kept.
DETECTORS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": 320,
    "fcos_resnet50_fpn": 256,
    "keypointrcnn_resnet50_fpn": 192,
    "maskrcnn_resnet50_fpn": 192,
    "retinanet_resnet50_fpn": 256,
    "ssd300_vgg16": 300,
    "ssdlite320_mobilenet_v3_large": 320,
}


def row(name):
    shape, arguments = ROWS[name]
    network = torchvision.models.get_model(name, weights=None, **arguments)
    if name.startswith("vit_"):
        torch.nn.init.normal_(network.heads.head.weight, std=0.02)  # zero before training
    return Tensors(network), (torch.randn(shape),)


class Detector(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, image):
        return tuple(self.network([image])[0].values())


def detector(name):
    size = DETECTORS[name]
    sizes = {} if name.startswith("ssd") else {"min_size": size, "max_size": size}
    network = torchvision.models.get_model(name, weights=None, weights_backbone=None, **sizes)
    return Detector(network), (torch.rand(3, size, size),)


class Flow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = torchvision.models.optical_flow.raft_small(weights=None)

    def forward(self, first, second):
        return self.network(first, second, num_flow_updates=3)[-1]


def raft_small():
    return Flow(), (torch.rand(1, 3, 128, 160), torch.rand(1, 3, 128, 160))


class Deformable(torch.nn.Module):
    """Layers of DCNv2: offsets and a mask from a convolution."""

    def __init__(self, width=32, layers=2):
        super().__init__()
        self.first = torch.nn.Conv2d(3, width, 3, 2, 1)
        self.where = torch.nn.ModuleList(torch.nn.Conv2d(width, 27, 3, 1, 1) for _ in range(layers))
        self.layers = torch.nn.ModuleList(torchvision.ops.DeformConv2d(width, width, 3, padding=1) for _ in range(layers))

    def forward(self, x):
        x = self.first(x)
        for where, layer in zip(self.where, self.layers):
            found = where(x)
            x = torch.relu(layer(x, found[:, :18], torch.sigmoid(found[:, 18:])))
        return x


def deformable():
    return Deformable(), (torch.randn(1, 3, 96, 96),)


NETWORKS = {
    **{f"vision/{name}": lambda name=name: row(name) for name in ROWS},
    **{f"detection/{name}": lambda name=name: detector(name) for name in DETECTORS},
    "flow/raft_small": raft_small,
    "vision/deformable": deformable,
}
