// Tensors in files of their own: a TensorProto, as the ONNX test data and `fettle run` use it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/tensor.h"

namespace fettle::onnx {

/// The tensor in the bytes of a TensorProto, copied and aligned. External data is refused. Fails
/// with kInvalidModel, kUnsupported (strings, complex) or kOutOfMemory.
Result<Tensor> ReadTensorProto(std::span<const std::byte> bytes);
/// The same from a file; messages start with its path.
Result<Tensor> ReadTensorFile(const std::string& path);
/// The name in the bytes of a TensorProto; "" where it has none.
Result<std::string> ReadTensorProtoName(std::span<const std::byte> bytes);

/// The tensor as a value of type `declared`: tools on NumPy, which has no bfloat16, write such data
/// as uint16, and this gives it its type back. Shares the bytes; other tensors come back as they
/// are.
Tensor AsDeclared(const Tensor& tensor, DType declared);

/// The bytes of a TensorProto with raw data (4-bit types are packed). The tensor must not be empty.
std::string WriteTensorProto(const Tensor& tensor, std::string_view name);

}  // namespace fettle::onnx
