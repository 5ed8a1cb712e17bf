#!/usr/bin/env python3
"""The matting network on clips that training never saw: measure.py MODEL.onnx MODELS CLIP... [--every 2] [--fettle PROGRAM]

For each clip the mean overlap (intersection over union) with what the teachers of MODELS say: person against
selfie_segmentation, against deeplab_v3 and against both where they agree; head against bodypix's. The teachers against each
other stand beside it. With --fettle also the largest difference between Fettle's masks and ONNX Runtime's on each clip.
"""

import argparse
import pathlib
import subprocess
import tempfile

import numpy as np
import onnxruntime
from PIL import Image
from prepare import clip_frames, yuv_of
from teachers import Teachers, overlap, resized

LEAST = 0.005  # of the picture: less of a person is not judged


def inputs_of(picture):
    """Luma and chroma at the size that `fettle enhance` takes: about 240 x 160 places, multiples of 16."""
    scale = (240 * 160 / picture.width / picture.height) ** 0.5
    width, height = (max(16, round(side * scale / 16) * 16) for side in picture.size)
    luma, chroma = yuv_of(np.asarray(picture.resize((width, height), Image.BOX)))
    return {"luma": luma[None, None].astype(np.float32) / 255, "chroma": chroma[None].astype(np.float32) / 255}


def by_fettle(program, model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "run", model, "-o", f"masks={folder}/masks.npy"]
        for name, value in inputs.items():
            np.save(f"{folder}/{name}.npy", value)
            words += ["-i", f"{name}={folder}/{name}.npy"]
        subprocess.run([str(word) for word in words], check=True, capture_output=True)
        return np.load(f"{folder}/masks.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("clips", nargs="+", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--fettle")
    args = parser.parse_args()
    teachers = Teachers(args.models)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(args.model, options, providers=["CPUExecutionProvider"])
    for clip in args.clips:
        rows, difference = [], None
        for picture in clip_frames(clip, args.every):
            inputs = inputs_of(picture)
            masks = session.run(None, inputs)[0]
            if args.fettle and difference is None:
                difference = np.abs(by_fettle(args.fettle, args.model, inputs) - masks).max()
            person, head = (resized(mask, picture.size) for mask in masks[0])
            selfie, deeplab = teachers.selfie(picture), teachers.deeplab(picture)
            consensus, taught_head, _ = teachers.masks(picture)
            if (deeplab > 0.5).mean() < LEAST and (selfie > 0.5).mean() < LEAST:
                continue
            rows.append([overlap(person, selfie), overlap(person, deeplab), overlap(person, consensus),
                         overlap(head, taught_head), overlap(selfie, deeplab)])  # fmt: skip
        names = ("selfie", "deeplab", "both", "head", "selfie-deeplab")
        means = np.mean(rows, 0) if rows else [np.nan] * len(names)
        text = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, means))
        print(f"{clip.name:36} {len(rows):4} frames: {text}" + (f"; Fettle differs by {difference:.1e}" if difference is not None else ""), flush=True)


if __name__ == "__main__":
    main()
