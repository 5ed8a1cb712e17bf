// Import rules of recurrent operators in domain com.microsoft.
#pragma once

#include "ops/op.h"

namespace fettle::ops {

/// onnx_quantised.cc
Status ImportDynamicQuantizeLstm(ImportContext& context);

}  // namespace fettle::ops
