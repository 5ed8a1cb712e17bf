// The operands of a product of bytes: how its weights are packed, and what the zero points add to
// the sums.
#pragma once

#include <memory>

#include "kernels/cpu/quantised/pack.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// A product as the convolution that it is: rows are pixels of one line.
struct QuantShapes {
  ConvGeometry g;
  bool transposed = false;  // weights [ic][oc]
  int64_t merged = 1;       // see QuantLayout

  /// Merges as many groups as `nr` columns hold: a panel is fuller then, and not deeper than all of
  /// theirs. Sums have at most `most_depth` products.
  void MergeGroups(int64_t nr, int64_t most_depth);
};

/// The layout of a product's packed weights as far as no micro-kernel matters.
QuantLayout ReadQuantLayout(const ir::Graph& group, const QuantisedGroup& q,
                            const QuantShapes& shapes, const TapPlan& taps);

/// Whether each zero point of the weights is `zero`; absent ones are 0.
bool WeightZerosAre(const ir::Graph& group, const QuantisedGroup& q, int64_t zero);

/// Whether no requantised result of `channels` channels reaches 2^31, whatever the sum.
bool ResultsAreBounded(const ir::Graph& group, const QuantisedGroup& q, int64_t channels);

/// Immutable.
class QuantOperands {
 public:
  /// `flips`: micro-kernels read rows of i8 as u8 plus 128.
  QuantOperands(std::shared_ptr<const ir::Graph> group, const QuantisedGroup& q,
                const QuantLayout& layout, bool flips);

  const QuantLayout& layout() const { return layout_; }
  /// Of x among the group's inputs.
  int input() const { return input_; }
  bool signed_x() const { return signed_x_; }
  /// Whether the sum of each row matters: weights have zero points in their packed form.
  bool needs_row_sums() const { return row_sums_; }
  /// The zero point of all columns in the form that is multiplied; nothing where there are several.
  std::optional<uint32_t> WeightZero() const { return w_zero_; }

  /// The zero point of x, which may be computed.
  int32_t InputZero(const LaunchArgs& args) const;
  /// What sums of products of packed bytes lack of (x - zero) * (w - w_zero) but for the row sums,
  /// and the bias: layout().columns() values. The packed weights are the launch's first ones.
  void FillInit(const LaunchArgs& args, int32_t zero, int32_t* init) const;

 private:
  std::shared_ptr<const ir::Graph> group_;
  QuantLayout layout_;
  ir::ValueId x_zero_;
  int input_, zero_input_ = -1;
  bool signed_x_, flips_, row_sums_;
  std::optional<uint32_t> w_zero_;
};

}  // namespace fettle::kernels
