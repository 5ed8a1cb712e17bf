// Generated tensors: parameters, as oracle and kernels read them.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::ops {

/// The one element that ConstantOfShape repeats: attribute 'value', or 0 as f32.
Constant ReadFillValue(const ir::Node& node);

/// How many elements Range has; nothing for a step of 0 (or NaN) and for more than kMaxElements.
std::optional<int64_t> CountRange(int64_t start, int64_t limit, int64_t delta);
std::optional<int64_t> CountRange(double start, double limit, double delta);

}  // namespace fettle::ops
