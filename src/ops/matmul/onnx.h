// Import rules of the matrix products.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

std::span<const ImportRule> MatMulImports(std::string_view op);

}  // namespace fettle::ops
