// What products of weights in blocks share: how constants become panels, and panels times rounded
// rows.
#pragma once

#include "kernels/cpu/block_product/block_panel.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// The constants of a product.
struct BlockOperands {
  ir::ValueId codes, scales, minima;
};

/// Bits of a code in a panel.
int PanelBits(const Constant& codes, int64_t block);

/// Panels of one matrix of `p`. Sums are the first array of a row.
BlockLayout LayoutOf(const ir::Graph& graph, const BlockOperands& operands,
                     const ops::BlockProduct& p, int bits);
PackRequest RequestBlocks(const BlockLayout& layout, const BlockOperands& operands);

/// Whether so many rows multiply a panel's codes as bytes, which they are made once.
bool UnpacksPanels(const BlockKernels& kernels, const BlockLayout& layout, int64_t rows);

/// c[count][columns] = rounded rows times a panel, which is read once. No row's results depend on
/// the others.
struct PanelRows {
  const BlockLayout* layout = nullptr;
  bool unpacks = false;
  const BlockTileRun* tiles = nullptr;  // BlockKernels::TilesOf
  const std::byte* panel = nullptr;
  int64_t columns = 0;
  const std::byte* rows = nullptr;  // layout->row_bytes() apart
  int64_t count = 0;
  float* c = nullptr;
  int64_t c_stride = 0;
  /// Scratch: k * kBlockColumns bytes where it unpacks, and layout->scaled_floats().
  std::byte* unpacked = nullptr;
  float* scales = nullptr;
};
void MultiplyPanel(const BlockKernels& kernels, const PanelRows& work);

}  // namespace fettle::kernels
