"""Popular packages that run networks by onnxruntime, with fettle.ort in its place: both say the same. packages.py

Each runs in a process of its own, once with each engine (`packages.py NAME ENGINE` is one). Those that are not installed
are skipped and counted. The last line counts.
"""

import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import types

import numpy

TEXT = "Fettle 2026"


def page():
    """White with two lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (320, 128), "white")
    draw = ImageDraw.Draw(image)
    for at, text in ((16, TEXT), (72, "plain text")):
        draw.text((20, at), text, "black", ImageFont.load_default(36))
    return numpy.asarray(image)[:, :, ::-1].copy()


def sound(seconds=1.0):
    """A tone that grows, with noise."""
    at = numpy.arange(int(16000 * seconds)) / 16000
    noise = numpy.random.default_rng(0).normal(0, 0.02, at.size)
    return (numpy.sin(2 * numpy.pi * 220 * at) * numpy.minimum(at, 0.5) + noise).astype(numpy.float32)


def rapidocr_onnxruntime():
    from rapidocr_onnxruntime import RapidOCR

    rows, _ = RapidOCR()(page())
    texts = [text for _, text, _ in rows]
    assert TEXT.replace(" ", "") in texts[0].replace(" ", ""), texts
    return {"texts": texts, "boxes": [box for box, _, _ in rows], "scores": [float(score) for _, _, score in rows]}


def nudenet():
    from nudenet import NudeDetector

    detector = NudeDetector()
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        from PIL import Image

        Image.fromarray(numpy.random.default_rng(1).integers(0, 255, [240, 320, 3], numpy.uint8)).save(file.name)
        found = detector.detect(file.name)
    network = detector.onnx_session
    grid = numpy.random.default_rng(2).random([1, 3, 320, 320], numpy.float32)
    (scores,) = network.run(None, {network.get_inputs()[0].name: grid})
    return {"found": [row["class"] for row in found], "scores": scores[0, 4:, ::50].tolist()}


def magika():
    from magika import Magika

    judge = Magika()
    files = [b"#include <stdio.h>\nint main(void) { return puts(\"a\"); }\n" * 9, b"import os\n\n\ndef f(x):\n    return x\n" * 9,
             json.dumps({"a": [1, 2, {"b": None}]} | {str(i): i for i in range(60)}).encode(), bytes(range(256)) * 20]
    answers = [judge.identify_bytes(data) for data in files]
    assert [str(answer.output.label) for answer in answers[1:3]] == ["python", "json"], answers
    return {"labels": [str(answer.output.label) for answer in answers], "scores": [answer.score for answer in answers]}


def pipecat():
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    judge = SileroVADAnalyzer(sample_rate=16000)
    judge.set_sample_rate(16000)
    size = judge.num_frames_required() * 2
    data = (sound() * 32767).astype(numpy.int16).tobytes()
    return {"confidence": [float(numpy.ravel(judge.voice_confidence(data[at : at + size]))[0])
                           for at in range(0, len(data) - size, size)]}


def silero_vad():
    """The module of the package that needs no torch, and its network for streams."""
    import onnxruntime

    folder = importlib.util.find_spec("silero_vad").submodule_search_locations[0]
    package, torchs = types.ModuleType("silero_vad"), types.ModuleType("silero_vad.utils_vad")
    package.__path__, torchs.get_speech_timestamps_from_probs = [folder], None
    sys.modules.update({"silero_vad": package, "silero_vad.utils_vad": torchs})
    module = importlib.import_module("silero_vad.sequence_vad")
    whole = module.SileroVADSequence(folder + "/data/silero_vad_16k_sequence.onnx").audio_forward(sound(1.024))
    session = onnxruntime.InferenceSession(folder + "/data/silero_vad.onnx", providers=["CPUExecutionProvider"])
    state, context, said = numpy.zeros([2, 1, 128], numpy.float32), numpy.zeros([1, 64], numpy.float32), []
    for chunk in numpy.split(sound(1.024), 32):
        x = numpy.concatenate([context, chunk[None]], 1)
        out, state = session.run(None, {"input": x, "state": state, "sr": numpy.array(16000, numpy.int64)})
        context = x[:, -64:]
        said.append(float(out[0, 0]))
    return {"confidence": said, "whole": whole.tolist()}


CASES = {case.__name__: case for case in (rapidocr_onnxruntime, nudenet, magika, pipecat, silero_vad)}


def one(name, engine):
    if engine == "fettle":
        import fettle.ort

        sys.modules["onnxruntime"] = fettle.ort
    print("answer " + json.dumps(CASES[name]()))


def answer(name, engine):
    """What a process of its own says, or None and its last line."""
    done = subprocess.run([sys.executable, __file__, name, engine], capture_output=True, text=True, check=False)
    rows = [line for line in done.stdout.splitlines() if line.startswith("answer ")]
    return (json.loads(rows[0][7:]) if rows and done.returncode == 0 else None), done.stderr


def differences(mine, theirs):
    """The names of the fields that differ: words and counts at all, numbers by more than 1e-3."""
    for name, value in theirs.items():
        try:
            same = numpy.allclose(mine[name], value, rtol=0, atol=1.5 if name == "boxes" else 1e-3)
        except (TypeError, ValueError):
            same = mine[name] == value
        if not same:
            yield name


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in CASES:
        if importlib.util.find_spec(name) is None:
            counts["skipped"] += 1
            print(f"{name}: not installed")
            continue
        (mine, error), (theirs, other) = answer(name, "fettle"), answer(name, "onnxruntime")
        wrong = list(differences(mine, theirs)) if mine and theirs else [(error if theirs else other)[-1500:]]
        counts["failed" if wrong else "passed"] += 1
        print(f"{name}: {'the same' if not wrong else 'differs: ' + ', '.join(wrong)}")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) == 3 else main()
