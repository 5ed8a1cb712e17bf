"""The engines that are measured beside Fettle. ENGINES: by name, what makes of a model's path, a number of threads, the
inputs by name and a folder for converted files a function without arguments that runs the model once. f32 unless the name
says otherwise; what an engine cannot run raises."""

import pathlib
import subprocess
import sys


def onnxruntime(path, threads, feeds, _):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def openvino_with(**properties):
    def make(path, threads, feeds, _):
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, **properties}
        request = openvino.Core().compile_model(str(path), "CPU", settings).create_infer_request()
        return lambda: request.infer(feeds, share_inputs=True)

    return make


def mnn(path, threads, feeds, folder):
    import MNN
    import numpy

    converted = pathlib.Path(folder) / "model.mnn"
    if not converted.exists():
        converter = pathlib.Path(sys.executable).parent / "mnnconvert"
        subprocess.run([converter, "-f", "ONNX", "--modelFile", path, "--MNNModel", converted, "--bizCode", "bench"],
                       check=True, capture_output=True, timeout=600)
    interpreter = MNN.Interpreter(str(converted))
    session = interpreter.createSession({"numThread": threads, "precision": "high", "backend": "CPU"})
    inputs = interpreter.getSessionInputAll(session)
    for name, value in feeds.items():
        interpreter.resizeTensor(inputs[name], value.shape)
    interpreter.resizeSession(session)
    for name, value in feeds.items():
        data = numpy.ascontiguousarray(value)
        host = MNN.Tensor(data.shape, inputs[name].getDataType(), data, MNN.Tensor_DimensionType_Caffe)
        inputs[name].copyFrom(host)
    return lambda: interpreter.runSession(session)


def ncnn(path, threads, feeds, folder):
    import ncnn
    import numpy

    param = pathlib.Path(folder) / "model.ncnn.param"
    if not param.exists():
        shapes = ",".join(str(list(value.shape)).replace(" ", "") for value in feeds.values())
        copy = pathlib.Path(folder) / "model.onnx"
        copy.write_bytes(pathlib.Path(path).read_bytes())
        subprocess.run([pathlib.Path(sys.executable).parent / "pnnx", copy, f"inputshape={shapes}", "fp16=0"],
                       check=True, capture_output=True, timeout=600, cwd=folder)
    net = ncnn.Net()
    net.opt.num_threads = threads
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    if net.load_param(str(param)) != 0 or net.load_model(str(param.with_suffix(".bin"))) != 0:
        raise RuntimeError("ncnn does not read what pnnx wrote")
    mats = [ncnn.Mat(numpy.ascontiguousarray(value[0] if value.ndim > 3 else value)) for value in feeds.values()]

    def run():
        extractor = net.create_extractor()
        for i, mat in enumerate(mats):
            extractor.input(f"in{i}", mat)
        code, _ = extractor.extract("out0")
        if code != 0:
            raise RuntimeError(f"ncnn: {code}")

    return run


ENGINES = {
    "onnxruntime": onnxruntime,
    "openvino": openvino_with(INFERENCE_PRECISION_HINT="f32"),
    "openvino-default": openvino_with(),
    "mnn": mnn,
    "ncnn": ncnn,
}
