// Import rules of the normalisations.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

std::span<const ImportRule> NormImports(std::string_view op);

}  // namespace fettle::ops
