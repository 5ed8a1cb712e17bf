// Packing: B as panels of nr columns, and the reading of constants as floats.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fettle::kernels {

/// A matrix of floats with any strides (in elements).
struct StridedMatrix {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 1;
};

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

/// Writes rows [0, depth) of `columns` <= nr columns of B as one panel [depth][nr], times `scale`;
/// missing columns are zero.
void PackPanel(const StridedMatrix& b, int64_t depth, int64_t columns, int nr, float scale,
               float* out);

/// Whether rows of `depth` floats side by side fall into the same few cache sets. A copy of rows is
/// kPadding floats longer.
constexpr bool ShareCacheSets(int64_t depth) { return depth * 4 % 2048 == 0; }
inline constexpr int64_t kPadding = 16;

/// Writes rows [0, rows) of `a`, `depth` elements each, `stride` elements apart.
void CopyRows(const StridedMatrix& a, int64_t rows, int64_t depth, int64_t stride, float* out);

/// Weights [groups][oc][ic][taps] (any constant of that element order) as panels of nr output
/// channels: [group][panel][tap][ic][nr], zero-padded. `transposed`: the order is
/// [groups][ic][oc][taps], as in ConvTranspose and in MatMul's B (taps 1).
struct WeightShape {
  int64_t groups = 1, oc = 0, ic = 0, taps = 1;
  bool transposed = false;
  /// Where tap t goes in the panels; empty: where it is.
  std::vector<int64_t> tap_position;
  /// Input channels side by side; 0: all. With less, the order is [channel block][tap][ic_block],
  /// zero-padded to whole blocks.
  int64_t ic_block = 0;
  /// Each group stands for so many of the weights' own, whose channels `oc` and `ic` count
  /// together: a block diagonal of one panel, zero beside it. Of constants whose ic_block is 0.
  int64_t joined = 1;

  int64_t Position(int64_t t) const { return tap_position.empty() ? t : tap_position[t]; }
  int64_t block() const { return ic_block == 0 ? ic : ic_block; }
  /// Rows of a panel.
  int64_t depth() const { return (ic_block == 0 ? ic : RoundUp(ic, ic_block)) * taps; }

  int64_t panels(int nr) const { return CeilDiv(oc, nr); }
  /// Floats of one group's panels.
  int64_t group_elements(int nr) const { return panels(nr) * nr * depth(); }
};
void PackWeights(const Constant& weights, const WeightShape& shape, int nr, float scale,
                 float* out);

/// `shape` with as many groups joined as one vector of half a panel has columns for: they take the
/// steps of one. Infinity times zero is no number: BlockArgs::joined says what a product does then.
WeightShape JoinGroups(WeightShape shape, int nr);

/// One panel of weights in memory, in the order [groups][oc][ic][taps].
void PackWeightPanel(const float* weights, const WeightShape& shape, int nr, int64_t group,
                     int64_t panel, float* out);

/// `count` floats of `bias` (null: zeros; one element: repeated) from `begin` on, times `scale`,
/// padded with zeros to `padded`.
void PackBias(const Constant* bias, int64_t begin, int64_t count, int64_t padded, float scale,
              float* out);

}  // namespace fettle::kernels
