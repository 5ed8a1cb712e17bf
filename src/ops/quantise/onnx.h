// Import rules of quantisation, and of the operators on quantised operands, which become
// DequantizeLinear -> operator -> QuantizeLinear.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

std::span<const ImportRule> QuantiseImports(std::string_view op);

/// onnx_qlinear.cc: the rules of QLinear* and QGemm; onnx_nbits.cc: that of MatMulNBits.
std::span<const ImportRule> QLinearRules();
Status ImportMatMulNBits(ImportContext& context);

}  // namespace fettle::ops
