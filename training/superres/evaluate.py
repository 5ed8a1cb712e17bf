#!/usr/bin/env python3
"""Measures ONNX files on Kodak: evaluate.py KODAK MODEL.onnx... [--fettle PROGRAM] [--crops OUT]

Prints PSNR of luma (BT.601, studio range, border of two pixels left out) for bicubic and each model, averaged over
the pictures, as ONNX Runtime computes it. A model that takes [1, H, W, 1] is fed so. `--fettle` also runs each
model through Fettle's program and prints the largest difference between the two on any picture; `--state` names
the folder of train.py, whose PyTorch networks are then compared too. `--crops` writes before-and-after pictures.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import onnxruntime
from PIL import Image

import luma

CROPS = {  # picture: left, top of 192 x 144 high-resolution pixels
    "kodim01": (120, 200),
    "kodim05": (330, 180),
    "kodim08": (300, 190),
    "kodim19": (190, 330),
    "kodim23": (180, 110),
}
CROP = (192, 144)


class Model:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.source, self.result = self.session.get_inputs()[0], self.session.get_outputs()[0]
        self.last = self.source.shape[-1] == 1  # channels last

    def feed(self, low):
        low = low.astype(np.float32)
        return low[None, :, :, None] if self.last else low[None, None]

    def run(self, low):
        return self.session.run([self.result.name], {self.source.name: self.feed(low)})[0].squeeze()

    def run_fettle(self, program, low):
        with tempfile.TemporaryDirectory() as folder:
            source, result = f"{folder}/in.npy", f"{folder}/out.npy"
            np.save(source, self.feed(low))
            command = [program, "run", str(self.path), "-i", f"{self.source.name}={source}"]
            command += ["-o", f"{self.result.name}={result}"]
            subprocess.run(command, check=True, capture_output=True)
            return np.load(result).squeeze()


def torch_networks(state, names):
    """Functions of the low resolution by file name, from students.pt: the training form, branch by branch."""
    import torch

    from net import Chain
    from train import STUDENTS

    weights = torch.load(state / "students.pt", map_location="cpu")
    networks = {}
    for name in set(names) & set(weights):
        net = Chain(**STUDENTS[name])
        net.load_state_dict(weights[name])

        def run(low, net=net):
            with torch.no_grad():
                return net(torch.from_numpy(low).float()[None, None], branches=True)[0, 0].numpy()

        networks[name] = run
    return networks


def enlarge_colour(low_rgb, luma_out):
    """The colour picture with the luma of the model and the chroma of bicubic."""
    height, width = luma_out.shape
    large = Image.fromarray(low_rgb).resize((width, height), Image.BICUBIC)
    ycc = np.asarray(large.convert("YCbCr")).copy()
    full = (luma_out * 255 - 16) * 255 / 219
    ycc[:, :, 0] = np.clip(np.rint(full), 0, 255)
    return np.asarray(Image.fromarray(ycc, "YCbCr").convert("RGB"))


def write_crop(out, path, low_rgb, values):
    left, top = CROPS[path.stem]
    box = (left, top, left + CROP[0], top + CROP[1])
    original = Image.open(path).convert("RGB")
    size = original.size
    views = [Image.fromarray(low_rgb).resize(size, Image.BICUBIC)]
    views += [Image.fromarray(enlarge_colour(low_rgb, value)) for value in values] + [original]
    sheet = Image.new("RGB", (len(views) * CROP[0] * 2, CROP[1] * 2))
    for index, view in enumerate(views):
        enlarged = view.crop(box).resize((CROP[0] * 2, CROP[1] * 2), Image.NEAREST)
        sheet.paste(enlarged, (index * CROP[0] * 2, 0))
    sheet.save(out / f"{path.stem}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kodak", type=pathlib.Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--fettle")
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--crops", type=pathlib.Path)
    args = parser.parse_args()
    models = [Model(path) for path in args.models]
    networks = torch_networks(args.state, [m.path.stem for m in models]) if args.state else {}
    scores = {name: [] for name in ["bicubic", *args.models]}
    worst = {}
    pictures = sorted(args.kodak.glob("*.png"))
    for path in pictures:
        low_rgb, low, high = luma.low_and_high(path)
        scores["bicubic"].append(luma.psnr(luma.bicubic_luma(low_rgb), high))
        values = []
        for name, model in zip(args.models, models):
            value = model.run(low)
            values.append(value)
            scores[name].append(luma.psnr(np.clip(value, 0, 1), high))
            others = {}
            if args.fettle:
                others["Fettle"] = model.run_fettle(args.fettle, low)
            if model.path.stem in networks:
                others["PyTorch, branches"] = networks[model.path.stem](low)
            for kind, other in others.items():
                difference = float(np.abs(other - value).max())
                worst[name, kind] = max(worst.get((name, kind), 0.0), difference)
        if args.crops and path.stem in CROPS:
            args.crops.mkdir(parents=True, exist_ok=True)
            write_crop(args.crops, path, low_rgb, values)
    baseline = np.mean(scores["bicubic"])
    print(f"{len(pictures)} pictures")
    for name, values in scores.items():
        print(f"{name:44} {np.mean(values):.4f} dB {np.mean(values) - baseline:+.4f}")
    for (name, kind), value in worst.items():
        print(f"{name:44} differs from {kind} by at most {value:.1e}")


if __name__ == "__main__":
    main()
