// Which sums of a product give which of two values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/binary/binary_product.h"

namespace fettle::passes {

/// An operator that, in its one computed operand and for each channel, never falls or never rises,
/// rounding included. `operand` is the computed one.
bool IsMonotone(const ir::Graph& graph, const ir::Node& node, ir::ValueId operand,
                bool operand_is_two_valued);

/// A chain of monotone operators behind a product has two values: `high` for sums s with
/// low_sum[o] <= s <= high_sum[o] of output o, else `low`.
struct Thresholds {
  double low = 0, high = 0;
  std::vector<int32_t> low_sum, high_sum;
};

/// Bisects the sums of each output. The oracles of the operators of `chain` evaluate them, so the
/// bits are those that the graph computes. Nothing, with the reason in `why`, where a third value
/// or NaN is among the results.
std::optional<Thresholds> FindThresholds(const ir::Graph& graph, const BinaryProduct& product,
                                         const std::vector<ir::NodeId>& chain, std::string& why);

}  // namespace fettle::passes
