"""ONNX's backend interface (onnx.backend.base): `import fettle.backend as backend`, `backend.prepare(model).run(inputs)`.

Needs the package onnx, as nothing else of fettle does.
"""

from __future__ import annotations

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from . import dtypes, errors
from .ort.session import _Session
from .tensor import Tensor


class FettleRep(BackendRep):
    """A model that is prepared to run; threads may share it."""

    def __init__(self, session: _Session, inputs: list[str]):
        self._session = session
        self._inputs = inputs
        self._outputs = tuple(value.name for value in session.model.outputs)
        # Of types that NumPy lacks ONNX's own tests give the bytes, as integers.
        self._bits = {value.name: (value.dtype.name, dtypes.bits_of(value.dtype)) for value in session.model.inputs
                      if value.dtype is not None and dtypes.bits_of(value.dtype) is not None}

    def run(self, inputs, **kwargs) -> tuple:
        """The outputs, a tuple of arrays that are also fields by name. `inputs`: arrays in the order of the graph's
        inputs (initialisers left out), one array, or {name: array}."""
        if not isinstance(inputs, dict):
            inputs = dict(zip(self._inputs, inputs if isinstance(inputs, (list, tuple)) else [inputs]))
        else:
            inputs = dict(inputs)
        for name in self._bits.keys() & inputs.keys():
            if inputs[name].dtype == self._bits[name][1]:
                inputs[name] = Tensor.from_numpy(inputs[name], dtype=self._bits[name][0])
        values = self._session._infer(inputs, self._outputs, False)
        return namedtupledict("Outputs", self._outputs)(*values)


class FettleBackend(Backend):
    """onnx.backend.base.Backend over fettle.Session, on the CPU."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs) -> bool:
        """Whether all of the model's operators and types are supported."""
        try:
            cls.prepare(model, device, **kwargs)
        except errors.Error:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs) -> FettleRep:
        """`model`: a ModelProto, its bytes or a path. `kwargs` are options of fettle.Session. Raises fettle.Unsupported
        for other devices, operators and types, fettle.InvalidModel."""
        if not cls.supports_device(device):
            raise errors.Unsupported(f"the backend runs on the CPU, not on {device}")
        proto = onnx.load(model) if isinstance(model, str) else model
        proto = onnx.load_from_string(proto) if isinstance(proto, bytes) else proto
        session = _Session(model if isinstance(model, str) else proto.SerializeToString(), **kwargs)
        known = {value.name for value in session.model.inputs}
        constants = {constant.name for constant in proto.graph.initializer}
        return FettleRep(session, [value.name for value in proto.graph.input
                                   if value.name in known and value.name not in constants])

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs) -> tuple:
        """One operator on arrays. `outputs_info`: (type, shape) of each output, where they cannot be inferred;
        `opset_version`: the newest by default."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        given = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                 for name, array in given.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        if outputs_info is not None:
            outputs = [helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(dtype), shape)
                       for info, (dtype, shape) in zip(outputs, outputs_info)]
        graph = helper.make_graph([node], "node", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        if outputs_info is None:
            model = onnx.shape_inference.infer_shapes(model)
        return cls.prepare(model, device, **kwargs).run(given)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether `device` ("CPU", "CUDA:0" ...) is the CPU."""
        return Device(device).type == DeviceType.CPU


is_compatible = FettleBackend.is_compatible
prepare = FettleBackend.prepare
run_model = FettleBackend.run_model
run_node = FettleBackend.run_node
supports_device = FettleBackend.supports_device
