"""IOBinding: inputs and outputs that are bound once and used by many runs."""

from __future__ import annotations

import numpy

from .. import errors
from ..tensor import Tensor
from . import exceptions, feeds
from .devices import need_host
from .values import OrtValue, at_address, tensor_of


class IOBinding:
    """Inputs and outputs of runs by `InferenceSession.run_with_iobinding`, all in host memory.

    Inputs are read where they lie. Outputs that are bound to memory are copied there after the run; those bound by name
    alone are made anew. Belongs to one thread at a time.
    """

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._outputs = {}  # name -> where it goes, None: anew; in the order of the calls
        self._results = []

    def bind_cpu_input(self, name, arr_on_cpu) -> None:
        """Binds an array, whose elements each run reads."""
        self._input(name)
        self._inputs[name] = self._session._sess._adapt(name, arr_on_cpu)

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr) -> None:
        """Binds memory at an address, which the caller keeps."""
        self._input(name)
        need_host(device_type)
        self._inputs[name] = at_address(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name, ortvalue: OrtValue) -> None:
        """Binds an OrtValue."""
        self._input(name)
        self._inputs[name] = tensor_of(ortvalue, f"input '{name}'")

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None) -> None:
        """Asks for an output, made again or written to memory at an address, which the caller keeps."""
        self._output(name)
        need_host(device_type)
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise exceptions.InvalidArgument(f"output '{name}': memory at an address needs element_type and shape")
        self._outputs[name] = at_address(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name, ortvalue: OrtValue) -> None:
        """Asks for an output in an OrtValue of its type and shape."""
        self._output(name)
        self._outputs[name] = tensor_of(ortvalue, f"output '{name}'")

    def synchronize_inputs(self) -> None:
        """Nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run in the order in which they were bound."""
        return [OrtValue(tensor) for tensor in self._results]

    get_outputs_as_ortvaluevector = get_outputs

    def copy_outputs_to_cpu(self) -> list[numpy.ndarray]:
        """The outputs of the last run as arrays of their own."""
        return [tensor.numpy().copy() for tensor in self._results]

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs, those of the last run, too."""
        self._outputs.clear()
        self._results = []

    def _run(self, run_options) -> None:
        names = tuple(self._outputs)
        if not names:
            raise exceptions.InvalidArgument(f"no output is bound; the model's outputs are {_listed(self._session._outputs)}")
        try:
            tensors = self._session._infer(names, self._inputs, run_options, raw=True)
        except errors.Error as error:
            raise feeds.refusal(error, self._inputs, self._session._inputs) from None
        self._results = [_deliver(name, tensor, self._outputs[name]) for name, tensor in zip(names, tensors)]

    def _input(self, name) -> None:
        if name not in [info.name for info in self._session._inputs]:
            raise exceptions.InvalidArgument(f"the model has no input {name!r}; its inputs are {_listed(self._session._inputs)}")

    def _output(self, name) -> None:
        if name not in [info.name for info in self._session._outputs]:
            raise exceptions.InvalidArgument(f"the model has no output {name!r}; its outputs are {_listed(self._session._outputs)}")


def _listed(infos) -> str:
    return feeds.names_of(info.name for info in infos)


def _deliver(name, made: Tensor, bound) -> Tensor:
    if bound is None:
        return made
    if made.shape != bound.shape or made.dtype != bound.dtype:
        raise exceptions.InvalidArgument(f"output '{name}' is {made.dtype} of {made.shape}, "
                         f"and its memory {bound.dtype} of {bound.shape}")
    numpy.copyto(bound.numpy(), made.numpy())
    return bound
