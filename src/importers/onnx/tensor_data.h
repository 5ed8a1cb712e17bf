// TensorProto: from wire bytes to a constant.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "importers/onnx/external.h"
#include "tensor/tensor.h"

namespace fettle::onnx {

/// Extents that a shape in a file may have.
inline constexpr size_t kMaxRank = 32;

/// The element type of TensorProto.DataType `code`. Fails with kInvalidModel for unknown codes and
/// with kUnsupported, naming the type, for strings, complex numbers and the 8-bit and 4-bit floats
/// that Fettle does not have.
Result<DType> DTypeFromCode(int64_t code);
/// TensorProto.DataType of an element type; 0 where there is none.
int32_t CodeFromDType(DType dtype);

/// The tensor in the TensorProto `body`. Raw bytes of whole-byte types stay where they are, in
/// memory that `owner` (or the mapped external file) keeps alive, and so do those of many 4-bit
/// values; everything else is decoded into memory of its own, at most 8 times as large as `body`.
/// `external` may be null: external data is refused. Fails with kInvalidModel (shape, sizes,
/// external data), kUnsupported (type), kOutOfMemory. Messages do not name the tensor.
Result<Constant> DecodeTensor(std::string_view body, const std::shared_ptr<const void>& owner,
                              ExternalFiles* external);

}  // namespace fettle::onnx
