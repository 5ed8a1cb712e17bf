// Import rules of the matrix products.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

std::span<const ImportRule> MatMulImports(std::string_view op);

/// onnx_bnb4.cc and onnx_experts.cc
Status ImportMatMulBnb4(ImportContext& context);
Status ImportMoE(ImportContext& context);
Status ImportQMoE(ImportContext& context);

}  // namespace fettle::ops
