"""Exports the standard topologies with seeded weights, and int8 versions of some by ONNX Runtime's quantiser (QDQ, weights
per channel): topologies.py FOLDER [NAME...]. FOLDER/fp32/NAME.onnx and FOLDER/int8/NAME.onnx; what is there stays."""

import pathlib
import sys

NAMES = """squeezenet1_1 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large resnet18 resnet50 resnext50_32x4d inception_v3
googlenet vgg16 densenet121 efficientnet_b0 shufflenet_v2_x1_0 mnasnet1_0 regnet_y_400mf convnext_tiny vit_b_32 lraspp
swin_t bert_mini""".split()
QUANTISED = """squeezenet1_1 mobilenet_v2 mobilenet_v3_large resnet18 resnet50 googlenet densenet121 efficientnet_b0
shufflenet_v2_x1_0 vit_b_32 bert_mini""".split()
#: Whose activations are signed.
SIGNED = {"resnet18"}
WORDS, LENGTH = 30522, 128


def bert_mini():
    import torch

    class Bert(torch.nn.Module):
        def __init__(self, width=256, layers=4, heads=4):
            super().__init__()
            self.word = torch.nn.Embedding(WORDS, width)
            self.place = torch.nn.Embedding(LENGTH, width)
            self.norm = torch.nn.LayerNorm(width)
            self.layers = torch.nn.ModuleList(
                torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True)
                for _ in range(layers))

        def forward(self, ids):
            x = self.norm(self.word(ids) + self.place(torch.arange(ids.shape[1], device=ids.device)[None]))
            for layer in self.layers:
                x = layer(x)
            return x

    return Bert(), torch.randint(0, WORDS, (1, LENGTH))


def lraspp():
    import torch
    import torchvision

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)

        def forward(self, x):
            return self.net(x)["out"]

    return Logits(), torch.randn(1, 3, 224, 224)


def make(name):
    """The network and an input."""
    import torch
    import torchvision

    own = {"bert_mini": bert_mini, "lraspp": lraspp}
    if name in own:
        return own[name]()
    arguments = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        arguments |= {"init_weights": True, "aux_logits": name == "inception_v3"}
    size = 299 if name == "inception_v3" else 224
    return getattr(torchvision.models, name)(**arguments), torch.randn(1, 3, size, size)


def export(name, path):
    import torch

    torch.manual_seed(1)
    torch.backends.mha.set_fastpath_enabled(False)
    network, example = make(name)
    for module in network.eval().modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    torch.onnx.export(network, (example,), str(path), opset_version=17, dynamo=False)


def quantise(source, path, signed):
    import numpy
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Noise(CalibrationDataReader):
        def __init__(self):
            entry = onnx.load(str(source), load_external_data=False).graph.input[0]
            shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]
            random = numpy.random.default_rng(1)
            words = entry.type.tensor_type.elem_type == onnx.TensorProto.INT64
            self.feeds = iter([{entry.name: random.integers(0, WORDS, shape) if words else
                                random.standard_normal(shape).astype(numpy.float32)} for _ in range(4)])

        def get_next(self):
            return next(self.feeds, None)

    prepared = path.with_suffix(".prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(path), Noise(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8 if signed else QuantType.QUInt8, weight_type=QuantType.QInt8)
    prepared.unlink()


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or NAMES
    for kind in ("fp32", "int8"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for name in names:
        source, quantised = folder / "fp32" / f"{name}.onnx", folder / "int8" / f"{name}.onnx"
        if not source.exists():
            export(name, source)
        if name in QUANTISED and not quantised.exists():
            quantise(source, quantised, name in SIGNED)
        print(name, flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.exit(main())
