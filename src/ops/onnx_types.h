// ONNX's numbers for element types (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace fettle::ops {

/// kUnsupported for the types that Fettle does not know, kInvalidModel for numbers that ONNX does
/// not.
Result<DType> DTypeFromOnnx(int64_t number);
/// The same by name ("FLOAT"), as the first opsets wrote types.
Result<DType> DTypeFromOnnxName(std::string_view name);

}  // namespace fettle::ops
