// Negative log likelihood: attributes and shapes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// loss[n, d...] = -log_prob[n, target[n, d...], d...] * weight[target]; 0 where the target is
/// `ignore_index`. kMean divides the sum by the sum of the weights used.
struct LossAttributes {
  enum class Reduction { kNone, kSum, kMean };
  Reduction reduction = Reduction::kMean;
  std::optional<int64_t> ignore_index;
};
Result<LossAttributes> ReadLoss(const ir::Node& node);

}  // namespace fettle::ops
