"""Small ONNX files, written without the onnx package, which a fresh environment lacks; only constants need numpy."""

import struct

FLOAT, INT64, STRING = 1, 7, 8
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}


def _varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number, value):
    """A field of a protobuf message: numbers as varints, the rest with its length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def node(op, inputs, outputs, domain="", **attributes):
    """A NodeProto; attributes are integers, lists of them or graphs."""
    message = b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs)
    message += _field(4, op) + (_field(7, domain) if domain else b"")
    for name, value in attributes.items():
        attribute = _field(1, name)
        if isinstance(value, int):
            attribute += _field(3, value) + _field(20, 2)
        elif isinstance(value, bytes):
            attribute += _field(6, value) + _field(20, 5)
        else:
            attribute += b"".join(_field(8, item) for item in value) + _field(20, 7)
        message += _field(5, attribute)
    return message


def value(name, shape, dtype="float32", denotations=()):
    """A ValueInfoProto; extents are integers or names, `denotations` what axes mean, by number."""
    meanings = {axis: _field(3, text) for axis, text in dict(denotations).items()}
    extents = b"".join(_field(1, _field(1 if isinstance(extent, int) else 2, extent) + meanings.get(axis, b""))
                       for axis, extent in enumerate(shape))
    tensor = _field(1, dtype if isinstance(dtype, int) else _TYPES[dtype]) + _field(2, extents)
    return _field(1, name) + _field(2, _field(1, tensor))


def constant(name, array):
    """A TensorProto."""
    import numpy

    array = numpy.asarray(array)
    dims = b"".join(_field(1, extent) for extent in array.shape)
    return dims + _field(2, _TYPES[array.dtype.name]) + _field(8, name) + _field(9, array.tobytes())


def floats(name, dims, values):
    """A TensorProto of float32, made without numpy."""
    return b"".join(_field(1, extent) for extent in dims) + _field(2, FLOAT) + _field(8, name) + _field(9, struct.pack(f"<{len(values)}f", *values))


def integers(name, dims, values):
    """The same of int64."""
    return b"".join(_field(1, extent) for extent in dims) + _field(2, INT64) + _field(8, name) + _field(9, struct.pack(f"<{len(values)}q", *values))


def graph(nodes, inputs, outputs, constants=()):
    """A GraphProto."""
    message = b"".join(_field(1, item) for item in nodes) + _field(2, "small")
    message += b"".join(_field(5, item) for item in constants)
    return message + b"".join(_field(11, item) for item in inputs) + b"".join(_field(12, item) for item in outputs)


def model(nodes, inputs, outputs, constants=(), metadata=(), opset=17, domains=()):
    """The bytes of a ModelProto; `domains`: other sets of operators, in their first version."""
    message = _field(1, 8) + _field(2, "small_models") + _field(7, graph(nodes, inputs, outputs, constants))
    message += _field(8, _field(1, "") + _field(2, opset))
    message += b"".join(_field(8, _field(1, domain) + _field(2, 1)) for domain in domains)
    for key, text in dict(metadata).items():
        message += _field(14, _field(1, key) + _field(2, text))
    return message


def add(dtype="float32", **options):
    """z = x + y, of any one extent."""
    return model([node("Add", ["x", "y"], ["z"])], [value("x", ["n"], dtype), value("y", ["n"], dtype)],
                 [value("z", ["n"], dtype)], **options)


def identity(dtype="float32"):
    """y = x, of any two extents."""
    return model([node("Identity", ["x"], ["y"])], [value("x", ["n", "m"], dtype)], [value("y", ["n", "m"], dtype)])


def product(size, depth=1):
    """y = x times W, `depth` times; W is 1/size everywhere, so that ones stay ones."""
    import numpy

    weights = numpy.full((size, size), 1 / size, numpy.float32)
    names = ["x", *(f"h{i}" for i in range(depth - 1)), "y"]
    return model([node("MatMul", [names[i], "w"], [names[i + 1]]) for i in range(depth)],
                 [value("x", ["n", size])], [value("y", ["n", size])], [constant("w", weights)])
