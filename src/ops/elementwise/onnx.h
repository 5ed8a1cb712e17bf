// Import rules of the element-wise operators.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

/// The rules that belong to canonical operator `op`: its own name at all opsets, and more where
/// other forms exist.
std::span<const ImportRule> ElementwiseImports(std::string_view op);

}  // namespace fettle::ops
