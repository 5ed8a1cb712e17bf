// Packed integer weights: panels for the integer micro-kernels, and what each column needs to
// become a result.
#pragma once

#include <string_view>

#include "kernels/cpu/conv/taps.h"
#include "kernels/kernel.h"
#include "kernels/match/quantised_group.h"

namespace fettle::kernels {

/// Where the parts of the blob lie. Columns are padded to whole panels, group by group.
struct QuantLayout {
  int64_t groups = 1, oc = 0, ic = 0, kernel_taps = 1;  // oc and ic of one group
  int64_t kernel_width = 1;
  int64_t ic_block = 0;   // input channels side by side; 0: all
  bool tap_rows = false;  // see TapPlan
  int64_t stacked = 1;    // rows of the kernel in one tap, with tap_rows: see StackedLinesArgs
  /// Each group stands for so many of the weights' own, whose channels `oc` and `ic` count
  /// together: a block diagonal, with zero points beside it.
  int64_t merged = 1;
  bool transposed = false;  // weights [ic][oc]
  bool wide = false;        // see QuantKernels
  bool narrow = false;      // the same; a weight less its zero point is a byte
  bool joined = false;      // taps follow each other without padding between them
  bool unsigned_w = false;
  int w_shift = 0;  // taken off each weight
  int nr = 0;
  int step_multiple = 1;  // of the steps of a tap
  bool bits = false;      // see QuantKernels
  /// Instead of panels, lists behind the columns (quantised_avx2/terms.h) of weights less their
  /// zero points, which take so many bytes.
  bool terms = false;
  int64_t term_bytes = 0;
  /// Taps are the points of 3x3 filters (quantised_avx2/winograd_tile.h).
  bool winograd = false;

  int64_t block() const { return ic_block == 0 ? ic : ic_block; }
  int64_t blocks() const { return ic_block == 0 ? 1 : (ic + ic_block - 1) / ic_block; }
  /// Taps that one block of channels is read in, and the pixels side by side in one of them.
  int64_t block_taps() const {
    return tap_rows ? (kernel_taps / kernel_width + stacked - 1) / stacked : kernel_taps;
  }
  int64_t tap_pixels() const { return tap_rows ? kernel_width * stacked : 1; }

  int64_t all_taps() const { return blocks() * block_taps(); }
  int64_t tap_depth() const { return block() * tap_pixels(); }
  /// As the micro-kernels count them, and elements of one row of A in one tap.
  int64_t taps() const { return joined ? 1 : all_taps(); }
  int64_t depth() const { return joined ? all_taps() * tap_depth() : tap_depth(); }
  int64_t steps() const {
    const int64_t steps = wide ? (depth() + 1) / 2 : (depth() + 3) / 4;
    return (steps + step_multiple - 1) / step_multiple * step_multiple;
  }
  int64_t panels() const { return (oc + nr - 1) / nr; }
  int64_t panel_bytes() const {
    if (terms) return 0;
    const int64_t bytes = taps() * steps() * nr * (narrow ? 2 : 4);
    return bits ? 2 * nr * 4 + bytes / 8 : bytes;
  }
  int64_t group_bytes() const { return panels() * panel_bytes(); }
  int64_t columns() const { return groups * panels() * nr; }
  /// Five arrays of one 32-bit value per column follow the panels.
  int64_t sums_offset() const { return groups * group_bytes(); }
  int64_t zeros_offset() const { return sums_offset() + columns() * 4; }
  int64_t scales_offset() const { return zeros_offset() + columns() * 4; }
  int64_t adds_offset() const { return scales_offset() + columns() * 4; }
  int64_t biases_offset() const { return adds_offset() + columns() * 4; }
  int64_t terms_offset() const { return (biases_offset() + columns() * 4 + 63) / 64 * 64; }
  int64_t bytes() const {
    return terms ? terms_offset() + term_bytes : biases_offset() + columns() * 4;
  }
};

/// How the integer sum of an output channel becomes a result: (sum + bias) * scale + add.
struct QuantisedColumn {
  float scale = 0;
  int32_t bias = 0;
  float add = 0;
};
/// The scale is rounded as products and quotients of floats are, and a bias in units of the
/// products joins the sums, as integer convolutions define it; any other bias is added behind the
/// scale.
QuantisedColumn MakeQuantisedColumn(double x_scale, double w_scale, double y_scale, double bias,
                                    double bias_scale);

/// The constants of a product of bytes, null where the group has none.
struct QuantConstants {
  const Constant* w = nullptr;
  const Constant* w_scale = nullptr;
  const Constant* w_zero = nullptr;
  const Constant* bias = nullptr;
  const Constant* bias_scale = nullptr;

  /// A request for those that `q` has; its recipe says which: a digit for each.
  static PackRequest Request(const QuantisedGroup& q);
  /// Those of such a request.
  static QuantConstants Of(std::string_view present, std::span<const Constant* const> constants);
  static QuantConstants Of(const ir::Graph& group, const QuantisedGroup& q);

  int32_t Zero(int64_t channel) const;
  QuantisedColumn Column(int64_t channel, double x_scale, double y_scale) const;
};

/// Packs the weights of `q`. Not wide: bytes less `w_shift`, with sums per column and zero points
/// of that form. Wide: i16 (narrow: i8) with the zero points taken off. Scales and addends are
/// those of `q`'s result in units of the output's scale, where it is requantised. Terms: sums are
/// those of weights less their zero points. `form` names the micro-kernels that read them.
PackRequest MakeQuantPack(const QuantisedGroup& q, const QuantLayout& layout,
                          std::string_view form);

}  // namespace fettle::kernels
