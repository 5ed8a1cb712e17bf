"""Masks of people by two networks of others, and where both agree on them.

Pictures are RGB PIL images; masks are float H x W of 0..1. `selfie_segmentation` draws the outline (MediaPipe,
Apache-2.0), `bodypix` (Apache-2.0) says whether it is a person, and where the head is.
"""

import pathlib

import numpy as np
import onnxruntime
from PIL import Image

AGREE = 0.6  # least overlap of the two teachers for a frame to be taken


def resized(mask, size, how=Image.BILINEAR):
    return np.asarray(Image.fromarray(mask.astype(np.float32)).resize(size, how))


def grown(mask, radius):
    """The largest value within `radius` columns and rows."""
    for axis in (0, 1):
        padded = np.pad(mask, [(radius, radius) if i == axis else (0, 0) for i in (0, 1)], mode="edge")
        mask = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis).max(-1)
    return mask


def overlap(a, b):
    """Intersection over union of what is above one half; 1 where both are empty."""
    a, b = a > 0.5, b > 0.5
    union = (a | b).sum()
    return (a & b).sum() / union if union else 1.0


class Teachers:
    def __init__(self, models):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        models = pathlib.Path(models)

        def session(name):
            return onnxruntime.InferenceSession(str(models / name), options, providers=["CPUExecutionProvider"])

        self.selfie_net = session("segmentation/selfie_segmentation_256.onnx")
        self.deeplab_net = session("segmentation/deeplab_v3_257.onnx")
        self.bodypix_net = session("pose/bodypix_mobilenetv1_050_s16.onnx")

    def selfie(self, picture):
        pixels = np.asarray(picture.resize((256, 256), Image.BILINEAR), np.float32)[None] / 255
        return resized(self.selfie_net.run(None, {"input_1:0": pixels})[0][0, :, :, 0], picture.size)

    def deeplab(self, picture):
        """The class `person` of Pascal VOC."""
        pixels = np.asarray(picture.resize((257, 257), Image.BILINEAR), np.float32)[None] / 127.5 - 1
        scores = self.deeplab_net.run(None, {"sub_7": pixels})[0][0]
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        return resized(scores[:, :, 15] / scores.sum(-1), picture.size)

    def bodypix(self, picture):
        """(person, head): the head's mask is that of the two halves of the face, coarse."""
        wide = picture.width >= picture.height
        size = (353, 257) if wide else (257, 353)
        pixels = np.asarray(picture.resize(size, Image.BILINEAR), np.float32)[None] / 127.5 - 1
        segments, parts = self.bodypix_net.run(["segments", "part_heatmaps"], {"input": pixels})
        person = 1 / (1 + np.exp(-segments[0, :, :, 0]))
        face = (parts[0].argmax(-1) < 2) & (person > 0.4)
        return resized(person, picture.size), resized(face, picture.size)

    def masks(self, picture):
        """(person, head, overlap of the teachers). The head is the person within a face that is grown by a fifth."""
        outline, (person, face) = self.selfie(picture), self.bodypix(picture)
        radius = max(2, max(picture.size) // 24)
        near = grown(np.clip(2 * person, 0, 1), min(radius, 15))
        outline = outline * near
        rows = np.flatnonzero((face > 0.5).any(1))
        reach = max(2, int(0.2 * (rows[-1] - rows[0] + 1))) if len(rows) else 2
        return outline, outline * grown(face, min(reach, 31)), overlap(outline, person)
