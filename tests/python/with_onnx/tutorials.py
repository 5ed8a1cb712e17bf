"""What ONNX Runtime's tutorials do with a classifier, a detector, a segmenter and BERT, as they write it, and again with the
import changed and nothing else; both say the same. tutorials.py MODELS PICTURES BERT.onnx

bench/shapes/bert_mini.py writes a BERT. The last line counts.
"""

import pathlib
import sys

import numpy
from PIL import Image

IMPORT, CHANGED = "import onnxruntime as ort", "import fettle.ort as ort"

CLASSIFY = """
import onnxruntime as ort

def preprocess(image):
    pixels = numpy.asarray(image.convert("RGB").resize((224, 224)), numpy.float32).transpose(2, 0, 1) / 255
    mean, std = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
    return ((pixels - mean[:, None, None]) / std[:, None, None]).astype("float32")[None]

def softmax(x):
    e = numpy.exp(x - x.max())
    return e / e.sum()

session = ort.InferenceSession(models + "/classification/mobilenetv2_dynquant_int8.onnx", None)
input_name = session.get_inputs()[0].name
raw_result = session.run([], {input_name: preprocess(image)})
scores = softmax(numpy.array(raw_result).squeeze())
answer = numpy.argsort(scores)[::-1][:3].tolist()
"""

DETECT = """
import onnxruntime as ort

image_data = numpy.asarray(image.convert("RGB").resize((320, 240)), numpy.float32)
image_data = numpy.expand_dims(numpy.transpose((image_data - 127) / 128, [2, 0, 1]), axis=0)
sess_options = ort.SessionOptions()
sess_options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
sess = ort.InferenceSession(models + "/detection/ultraface_RFB-320.onnx", sess_options, providers=["CPUExecutionProvider"])
outname = [i.name for i in sess.get_outputs()]
inname = [i.name for i in sess.get_inputs()]
confidences, boxes = sess.run(outname, {inname[0]: image_data})
found = confidences[0, :, 1] > 0.7
answer = [found.sum().item(), *numpy.round(boxes[0, found] * [320, 240, 320, 240]).astype(int).ravel().tolist()]
"""

SEGMENT = """
import onnxruntime as ort

ort.set_default_logger_severity(3)
session = ort.InferenceSession(models + "/segmentation/deeplab_v3_257.onnx", providers=ort.get_available_providers())
shape = session.get_inputs()[0].shape
channels_last = shape[3] == 3
pixels = numpy.asarray(image.convert("RGB").resize((257, 257)), numpy.float32)[None] / 127.5 - 1
io_binding = session.io_binding()
io_binding.bind_cpu_input(session.get_inputs()[0].name, pixels if channels_last else pixels.transpose(0, 3, 1, 2).copy())
io_binding.bind_output(session.get_outputs()[0].name)
session.run_with_iobinding(io_binding)
(scores,) = io_binding.copy_outputs_to_cpu()
answer = scores.argmax(3 if scores.shape[3] == 21 else 1)
"""

BERT = """
import onnxruntime as ort

options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession(bert, options, providers=["CPUExecutionProvider"])
tokens = numpy.random.default_rng(0).integers(5, 1000, [1, 128])
known = {"input_ids": tokens, "attention_mask": numpy.ones_like(tokens), "token_type_ids": numpy.zeros_like(tokens)}
ort_inputs = {value.name: known.get(value.name, tokens) for value in session.get_inputs()}
ort_outputs = session.run(None, ort_inputs)
answer = numpy.concatenate([numpy.ravel(output) for output in ort_outputs])
"""


def answer_of(source, names):
    exec(source, names)
    return names["answer"]


def same(got, expected):
    """Lists are equal; of a segmentation's classes 99.9 % are, and of numbers all within 1e-3 of their range."""
    if isinstance(expected, list):
        return got == expected
    if got.shape != expected.shape:
        return False
    if numpy.issubdtype(expected.dtype, numpy.integer):
        return (got == expected).mean() >= 0.999
    return numpy.abs(got - expected).max() <= 1e-3 * numpy.ptp(expected)


def main():
    models, pictures, bert = sys.argv[1:4]
    passed = failed = 0
    for title, source, picture in (("a classifier", CLASSIFY, "chelsea_cat.png"), ("a detector", DETECT, "astronaut.png"),
                                   ("a segmenter", SEGMENT, "chelsea_cat.png"), ("BERT", BERT, "coffee.png")):
        assert source.count(IMPORT) == 1
        image = Image.open(pathlib.Path(pictures) / picture)
        both = [answer_of(text, {"numpy": numpy, "models": models, "image": image, "bert": bert})
                for text in (source, source.replace(IMPORT, CHANGED))]
        right = same(both[1], both[0])
        passed, failed = passed + right, failed + (not right)
        print(f"{'ok' if right else 'FAILED'}  {title}: {str(both[1])[:100].splitlines()[0]}")
        if not right:
            print(f"expected {str(both[0])[:100]}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
