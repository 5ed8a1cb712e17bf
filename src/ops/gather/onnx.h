// Import rules of gather operators in domain com.microsoft.
#pragma once

#include "ops/op.h"

namespace fettle::ops {

/// onnx_quantised.cc
Status ImportGatherBlockQuantized(ImportContext& context);

}  // namespace fettle::ops
