// Weights of two values for each output, as bits and a few numbers.
#pragma once

#include <array>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/binary/chosen_sums.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// How a constant of weights lies: [groups][outputs][channels][taps], or, `channels_first`,
/// [channels][outputs] of a product.
struct WeightOrder {
  int64_t groups = 1, outputs = 0, channels = 0, taps = 1;  // of a group
  bool channels_first = false;

  int64_t all_outputs() const { return groups * outputs; }
  int64_t depth() const { return taps * channels; }
  int64_t panels() const { return (outputs + kChosenOutputs - 1) / kChosenOutputs; }
};

/// One blob: [group][panel] of the three numbers of ChosenResults, kChosenOutputs each; behind them
/// [group][panel][tap][channel] words. Outputs behind a group's last one choose nothing.
struct WeightBits {
  explicit WeightBits(const WeightOrder& order) : order(order) {}

  static constexpr int64_t kNumbers = 3 * kChosenOutputs;
  WeightOrder order;
  int64_t all_panels() const { return order.groups * order.panels(); }
  int64_t words_at() const { return all_panels() * kNumbers * 4; }
  int64_t bytes() const { return words_at() + all_panels() * order.depth() * 4; }
};

/// The two values of each output, the lower first; kUnsupported where one has more.
Result<std::vector<std::array<float, 2>>> ReadPairs(const Constant& w, const WeightOrder& order);

/// Whether each output's weights have at most two values, all of them numbers: kUnsupported names
/// the first output with more.
Status CheckPairs(const Constant& w, const WeightOrder& order);

/// Writes the blob of weights that pass CheckPairs, times `alpha`. `addend`, of one element or one
/// for each output, counts `beta` times; null: none.
Status PackPairs(const Constant& w, const Constant* addend, const WeightOrder& order, float alpha,
                 float beta, std::byte* out);

}  // namespace fettle::kernels
