// Micro-kernels over panels of 2, 4 and 8 bit weights: products of few rows, which decode what they
// read, and the decoding of a slice for those of many.
#pragma once

#include <cstdint>

#include "kernels/cpu/product/panel_source.h"
#include "kernels/match/code_panels.h"

namespace fettle::kernels {

/// B is as it is defined, (w - zero) * scale, but for the order of roundings: the codes of a block
/// are summed first, then multiplied by its scale. 1 .. nr columns, and no addend.
struct PanelTile : RowsByPanel {
  Panel panel;
};

inline constexpr int kMaxPanelRows = 8;

/// The micro-kernels of one instruction set and one number of bits.
struct PanelKernels {
  int nr = 0;           // that of GetMicroKernels()
  int rows = 0;         // the most that a tile takes
  int direct_rows = 0;  // up to which each tile decodes the panel for itself
  void (*tile[kMaxPanelRows + 1])(const PanelTile&) = {};
  /// Rows [begin, end) of the panel, which begin with a step of a block, to out[end - begin][nr]:
  /// (w - zero) * scale, rounded once.
  void (*decode)(const Panel&, int64_t begin, int64_t end, float* out) = nullptr;
};
const PanelKernels& GetPanelKernels(int bits);

}  // namespace fettle::kernels
