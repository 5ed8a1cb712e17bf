"""Devices and memory as ONNX Runtime names them. There is one here: the host."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import __version__
from . import enums, exceptions

HOST = "CPUExecutionProvider"


def need_host(device_type: Any) -> None:
    """NotImplemented for memory of another device than the host."""
    if isinstance(device_type, OrtDevice):
        device_type = device_type._type
    if str(device_type).lower() != "cpu":
        raise exceptions.NotImplemented(f"fettle.ort has no memory of the device '{device_type}', only of 'cpu'; the "
                                        "config entry 'fettle.device' chooses what computes")


class OrtDevice:
    """A device by name; only 'cpu' holds values."""

    def __init__(self, device_type="cpu", device_id=0):
        self._type, self._id = device_type, device_id

    @staticmethod
    def make(ort_device_name, device_id, vendor_id=-1) -> OrtDevice:
        """The host. NotImplemented for others."""
        need_host(ort_device_name)
        return OrtDevice(ort_device_name, device_id)

    def device_type(self) -> int:
        """0, the CPU."""
        return 0

    def device_id(self) -> int:
        """As given."""
        return self._id

    def device_mem_type(self) -> int:
        """0, the default."""
        return 0

    def device_vendor_id(self) -> int:
        """0, none."""
        return 0


class OrtMemoryInfo:
    """Where a tensor lies: a name, and what `OrtMemoryInfo` of ONNX Runtime has."""

    name = "Cpu"
    allocator_type = enums.OrtAllocatorType.ORT_DEVICE_ALLOCATOR
    device_id = 0
    mem_type = enums.OrtMemType.DEFAULT
    device_mem_type = enums.OrtDeviceMemoryType.DEFAULT
    device_vendor_id = 0

    def __init__(self, name, allocator_type, device_id, mem_type):
        need_host(name)
        self.name, self.allocator_type, self.device_id, self.mem_type = name, allocator_type, device_id, mem_type

    @staticmethod
    def create_v2(name, device_type, vendor_id, device_id, device_mem_type, alignment, allocator_type) -> OrtMemoryInfo:
        """The same, of a kind of device."""
        if device_type != enums.OrtMemoryInfoDeviceType.CPU:
            need_host(getattr(device_type, "name", device_type))
        made = OrtMemoryInfo(name, allocator_type, device_id, enums.OrtMemType.DEFAULT)
        made.device_mem_type, made.device_vendor_id = device_mem_type, vendor_id
        return made


class OrtHardwareDevice(NamedTuple):
    """A device of the machine."""

    type: int
    vendor: str
    vendor_id: int
    device_id: int
    metadata: dict


class OrtEpDevice(NamedTuple):
    """What computes on a device."""

    ep_name: str
    ep_vendor: str
    ep_metadata: dict
    ep_options: dict
    device: OrtHardwareDevice

    def memory_info(self, memory_type=enums.OrtDeviceMemoryType.DEFAULT) -> OrtMemoryInfo:
        """Of the host."""
        return host_memory()

    def create_sync_stream(self, options=None):
        """NotImplemented: nothing is to be waited for."""
        raise exceptions.NotImplemented("fettle.ort has no OrtSyncStream: tensors are in host memory")


def host_memory() -> OrtMemoryInfo:
    """What describes the host's memory."""
    return OrtMemoryInfo("Cpu", enums.OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, enums.OrtMemType.DEFAULT)


def get_ep_devices() -> list[OrtEpDevice]:
    """The host."""
    device = OrtHardwareDevice(enums.OrtHardwareDeviceType.CPU, "", 0, 0, {})
    return [OrtEpDevice(HOST, "Fettle", {"version": __version__}, {}, device)]


def provider_pairs(providers, provider_options) -> list[tuple[str, dict]]:
    """(name, options) of the two arguments of a session. InvalidArgument where they are none."""
    if providers is None:
        return []
    if isinstance(providers, str) or not isinstance(providers, (list, tuple)):
        raise exceptions.InvalidArgument(f"providers: expected a list of names, got {providers!r}")
    pairs = [(provider, {}) if isinstance(provider, str) else _pair(provider) for provider in providers]
    if provider_options is None:
        return pairs
    if len(provider_options) != len(pairs):
        raise exceptions.InvalidArgument(f"provider_options: {len(provider_options)} for {len(pairs)} providers")
    return [(name, {**options, **more}) for (name, options), more in zip(pairs, provider_options)]


def _pair(provider) -> tuple[str, dict]:
    try:
        name, options = provider
        if isinstance(name, str):
            return name, dict(options)
    except (TypeError, ValueError):
        pass
    raise exceptions.InvalidArgument(f"providers: expected a name or (name, options), got {provider!r}") from None
