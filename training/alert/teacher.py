"""A much larger detector, YOLOX-Nano on COCO (Apache-2.0), that checks what the pupils take for phones."""

import numpy as np
import onnxruntime
from PIL import Image

PHONE = 67  # of COCO's 80
SIDE = 416


class Teacher:
    def __init__(self, file):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def sees_phone_in(self, picture):
        """In any of six parts of an RGB picture, and in the whole."""
        height, width = picture.shape[:2]
        half = min(height, width) // 2
        parts = [(x, y, x + half, y + half) for y in (0, height - half) for x in (0, (width - half) // 2, width - half)]
        whole = Image.fromarray(picture)
        return any(self.sees(whole.crop(part).resize((SIDE, SIDE), Image.BICUBIC)) for part in [(0, 0, width, height), *parts])

    def sees(self, rgb):
        bgr = np.asarray(rgb, np.float32)[..., ::-1].transpose(2, 0, 1)[None]
        out = self.session.run(None, {self.session.get_inputs()[0].name: np.ascontiguousarray(bgr)})[0][0]
        return float((out[:, 4] * out[:, 5 + PHONE]).max()) >= 0.25
