"""The few fields of an ONNX file that describe it, read from its bytes without the onnx package."""

from __future__ import annotations

from typing import NamedTuple


class Header(NamedTuple):
    """What ONNX Runtime's ModelMetadata has."""

    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    version: int = 0
    description: str = ""
    graph_name: str = ""
    graph_description: str = ""
    custom_metadata_map: dict = {}


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _fields(data, begin, end):
    """(number, value) of a protobuf message: an int, or the (begin, end) of bytes."""
    at = begin
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = (at, at + size), at + size
        elif kind in (1, 5):
            value, at = None, at + (8 if kind == 1 else 4)
        else:
            raise ValueError("a wire type that ONNX does not use")
        if at > end:
            raise ValueError("a field past the end")
        yield key >> 3, value


def read_header(data) -> Header:
    """The header of a ModelProto (bytes or an mmap); an empty one of anything else, such as a package."""
    found, metadata = {}, {}

    def text(span):
        return bytes(data[span[0] : span[1]]).decode("utf-8", "replace")

    try:
        names = {2: "producer_name", 3: "producer_version", 4: "domain", 6: "description"}
        for number, value in _fields(data, 0, len(data)):
            if number in names:
                found[names[number]] = text(value)
            elif number == 5:
                found["version"] = value
            elif number == 14:
                entry = {key: text(span) for key, span in _fields(data, *value)}
                metadata[entry.get(1, "")] = entry.get(2, "")
            elif number == 7:
                for inner, span in _fields(data, *value):
                    if inner in (2, 10):
                        found["graph_name" if inner == 2 else "graph_description"] = text(span)
    except (ValueError, IndexError, TypeError):
        return Header(custom_metadata_map={})
    return Header(**found, custom_metadata_map=metadata)


def is_model(data) -> bool:
    """Whether the bytes are fields of a ModelProto, a graph among them."""
    try:
        return any(number == 7 for number, _ in _fields(data, 0, len(data)))
    except (ValueError, IndexError, TypeError):
        return False


def read_denotations(data) -> dict[str, dict[int, str]]:
    """What a model's inputs and outputs say of their axes' meaning: {value: {axis: denotation}}."""
    found = {}
    try:
        for graph in _inner(data, (0, len(data)), 7):
            for number, span in _fields(data, *graph):
                if number in (11, 12):
                    name, axes = _axes(data, span)
                    found[name] = axes
    except (ValueError, IndexError, TypeError):
        return {}
    return found


def _inner(data, span, wanted):
    """The values of one field of a message."""
    return [value for number, value in _fields(data, *span) if number == wanted]


def _axes(data, value_info):
    name = "".join(bytes(data[begin:end]).decode("utf-8", "replace") for begin, end in _inner(data, value_info, 1))
    axes = {}
    for kind in _inner(data, value_info, 2):
        for tensor in _inner(data, kind, 1):
            for shape in _inner(data, tensor, 2):
                for axis, extent in enumerate(_inner(data, shape, 1)):
                    for begin, end in _inner(data, extent, 3):
                        axes[axis] = bytes(data[begin:end]).decode("utf-8", "replace")
    return name, axes
