// ONNX's numbers for element types (TensorProto.DataType).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "tensor/dtype.h"

namespace fettle::ops {

/// kUnsupported for the types that Fettle does not know, kInvalidModel for numbers that ONNX does
/// not.
Result<DType> DTypeFromOnnx(int64_t number);

}  // namespace fettle::ops
