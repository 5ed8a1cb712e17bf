// Rows that LayerNormalization and RMSNormalization normalise, over the innermost axes.
#pragma once

#include <vector>

#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/match/extents.h"

namespace fettle::kernels {

struct LayerFacts {
  RowExtents extents;
  Shape row;  // the input's, with 1 for the axes that are not normalised
  bool takes_mean;
  float epsilon;
};

/// A normalisation of whatever group, whose statistics nobody reads. Fails with kUnsupported and
/// the reason.
Result<LayerFacts> ReadLayer(const ir::Graph& group, const ir::Node& node);

/// Immutable but for SetCount.
class LayerRows {
 public:
  LayerRows(const ir::Graph& group, const ir::Node& node, const LayerFacts& facts);

  /// The same rows, but so many.
  void SetCount(int64_t count) { count_ = count; }

  const std::vector<PackRequest>& packs() const { return packs_; }
  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  RowTasks Tasks() const { return TasksOfRows(count_, length_); }
  /// `rows` rows of floats; y may be x.
  void Run(const LaunchArgs& args, const float* x, float* y, int64_t rows) const;

 private:
  int64_t count_, length_;
  bool takes_mean_;
  float epsilon_;
  std::vector<PackRequest> packs_;
  VectorOperand scale_, bias_;
};

}  // namespace fettle::kernels
