// Import rules of attention.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace fettle::ops {

std::span<const ImportRule> AttentionImports(std::string_view op);

}  // namespace fettle::ops
