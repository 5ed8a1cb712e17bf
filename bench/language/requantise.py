"""The same model with its matrices in another type, by the package gguf."""

import gguf
import numpy

# Its quantisers; the K types it only reads.
TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")


def copy_field(writer, field):
    kind = field.types[0]
    if kind == gguf.GGUFValueType.ARRAY:
        writer.add_array(field.name, field.contents())
    else:
        writer.add_key_value(field.name, field.contents(), kind)


def requantise(model, kind, out):
    """Writes the file `out` of the file `model`."""
    reader = gguf.GGUFReader(model)
    name = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(out, name)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in ("general.architecture", "general.file_type"):
            copy_field(writer, field)
    wanted = gguf.GGMLQuantizationType[kind]
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        values = values.reshape([int(extent) for extent in reversed(tensor.shape)])
        if values.ndim == 1:
            writer.add_tensor(tensor.name, values)
        elif kind in ("F32", "F16"):
            writer.add_tensor(tensor.name, values.astype(numpy.float32 if kind == "F32" else numpy.float16))
        else:
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
