"""A camera loop: camera.py [NUMBER]. Takes OpenCV (pip install opencv-python-headless) and libfettle_enhance."""

import sys

import cv2

from fettle.enhancer import Enhancer

camera = cv2.VideoCapture(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
enhancer = None
while True:
    there, frame = camera.read()
    if not there:
        break
    if enhancer is None:
        enhancer = Enhancer(frame.shape[1], frame.shape[0], "bgr24", steps="denoise,superres", latency_ms=60)
    cv2.imwrite("latest.png", enhancer.run(frame))
print(enhancer.facts if enhancer else "the camera gives no frames")
