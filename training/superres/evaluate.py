#!/usr/bin/env python3
"""Measures ONNX files on Kodak: evaluate.py KODAK MODEL.onnx... [--fettle PROGRAM] [--crops OUT]

Prints PSNR of luma (BT.601, studio range, border of two pixels left out) for bicubic and each model, averaged over
the pictures, as ONNX Runtime computes it. A model that takes [1, H, W, 1] is fed so. `--fettle` also runs each
model through Fettle's program and prints the largest difference between the two on any picture; `--state` names
the folder of train.py, whose PyTorch networks are then compared too. `--crops` writes before-and-after pictures: bicubic,
each model and the original, two in a row, a part of the picture at 4 to 1 and its corner at 8 to 1.

Besides PSNR, `border` is the gain over bicubic within the outermost two pixels, where a seam would show, and `overshoot` the
share of pixels that leave the range of the original's 5x5 neighbourhood by more than 4/255, which ringing would raise.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import onnxruntime
from PIL import Image

import luma

CROPS = {  # picture: left, top of 192 x 144 pixels
    "kodim01": (120, 200),
    "kodim05": (330, 180),
    "kodim08": (300, 190),
    "kodim19": (190, 330),
    "kodim23": (180, 110),
}
CROP, CORNER = (192, 144), (96, 72)


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


def write_sheet(path, views, box, zoom):
    """The box of each view, two views in a row."""
    size = ((box[2] - box[0]) * zoom, (box[3] - box[1]) * zoom)
    sheet = Image.new("RGB", (2 * size[0], (len(views) + 1) // 2 * size[1]))
    for index, view in enumerate(views):
        sheet.paste(view.crop(box).resize(size, Image.NEAREST), (index % 2 * size[0], index // 2 * size[1]))
    sheet.save(path)


def write_crops(out, path, low_rgb, values):
    original = Image.open(path).convert("RGB")
    views = [Image.fromarray(low_rgb).resize(original.size, Image.BICUBIC)]
    views += [Image.fromarray(enlarge_colour(low_rgb, value)) for value in values] + [original]
    left, top = CROPS[path.stem]
    out.mkdir(parents=True, exist_ok=True)
    write_sheet(out / f"{path.stem}.png", views, (left, top, left + CROP[0], top + CROP[1]), 4)
    write_sheet(out / f"{path.stem}_corner.png", views, (0, 0, *CORNER), 8)


def border_psnr(value, high):
    difference = np.asarray(value, np.float64) - high
    difference[luma.BORDER : -luma.BORDER, luma.BORDER : -luma.BORDER] = 0
    inner = (high.shape[0] - 2 * luma.BORDER) * (high.shape[1] - 2 * luma.BORDER)
    return -10 * np.log10((difference**2).sum() / (high.size - inner) + 1e-12)


def overshoot(value, high):
    around = np.lib.stride_tricks.sliding_window_view(np.pad(high, 2, mode="edge"), (5, 5))
    beyond = np.maximum(value - around.max(axis=(2, 3)), around.min(axis=(2, 3)) - value)
    return float((beyond > 4 / 255).mean())


def measures(value, high):
    value = np.clip(value, 0, 1)
    return luma.psnr(value, high), border_psnr(value, high), overshoot(value, high)


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
        scores["bicubic"].append(measures(luma.bicubic_luma(low_rgb), high))
        values = []
        for name, model in zip(args.models, models):
            value = model.run(low)
            values.append(value)
            scores[name].append(measures(value, high))
            others = {}
            if args.fettle:
                others["Fettle"] = model.run_fettle(args.fettle, low)
            if model.path.stem in networks:
                others["PyTorch, branches"] = networks[model.path.stem](low)
            for kind, other in others.items():
                difference = float(np.abs(other - value).max())
                worst[name, kind] = max(worst.get((name, kind), 0.0), difference)
        if args.crops and path.stem in CROPS:
            write_crops(args.crops, path, low_rgb, values)
    means = {name: np.mean(values, axis=0) for name, values in scores.items()}
    print(f"{len(pictures)} pictures")
    for name, (psnr, border, over) in means.items():
        gain, border_gain = psnr - means["bicubic"][0], border - means["bicubic"][1]
        print(f"{name:44} {psnr:.4f} dB {gain:+.4f}, border {border_gain:+.2f}, overshoot {over:.2%}")
    for (name, kind), value in worst.items():
        print(f"{name:44} differs from {kind} by at most {value:.1e}")


if __name__ == "__main__":
    main()
