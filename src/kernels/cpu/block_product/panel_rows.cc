#include "kernels/cpu/block_product/panel_rows.h"

#include <algorithm>

#include "tensor/block_source.h"

namespace fettle::kernels {
namespace {

/// Blocks that share a step of their scales, and of minima where these are kept; 0: they share
/// none.
int64_t StepBlocksOf(const Constant& scales, const Constant& minima) {
  const BlockSource* steps = StepsOf(scales);
  const bool has_all =
      steps != nullptr && (TimesScaleOf(minima) != 0 || StepsOf(minima) != nullptr);
  return has_all ? steps->numbers_of_step() : 0;
}

}  // namespace

int PanelBits(const Constant& codes, int64_t block) {
  const int bits = CodeBitsOf(codes);
  const bool in_planes = (bits == 5 && block == 32) || (bits == 6 && block == 16);
  return codes.dtype() == DType::kU4 ? 4 : in_planes ? bits : 8;
}

BlockLayout LayoutOf(const ir::Graph& graph, const BlockOperands& operands,
                     const ops::BlockProduct& p, int bits) {
  const Constant &scales = *graph.value(operands.scales).constant,
                 &minima = *graph.value(operands.minima).constant;
  BlockLayout layout = {.n = p.n, .k = p.k, .block = p.block, .bits = bits};
  layout.halves = scales.dtype() == DType::kF16;
  layout.times_scale = TimesScaleOf(minima);
  layout.step_blocks = StepBlocksOf(scales, minima);
  return layout;
}

PackRequest RequestBlocks(const BlockLayout& layout, const BlockOperands& operands) {
  PackRequest request;
  request.constants = {operands.codes, operands.scales, operands.minima};
  request.recipe = fmt::format("block_product.greatest.n{}.k{}.block{}.bits{}.halves{}.m{}.steps{}",
                               layout.n, layout.k, layout.block, layout.bits, layout.halves,
                               layout.times_scale, layout.step_blocks);
  request.bytes = layout.bytes();
  request.pack = [layout](std::span<const Constant* const> constants, std::byte* out) {
    PackBlocks(layout, *constants[0], *constants[1], *constants[2], out);
    return OkStatus();
  };
  return request;
}

bool UnpacksPanels(const BlockKernels& kernels, const BlockLayout& layout, int64_t rows) {
  return layout.has_planes() && (rows > kMaxBlockRows || kernels.planes[rows] == nullptr);
}

void MultiplyPanel(const BlockKernels& kernels, const PanelRows& work) {
  const BlockLayout &layout = *work.layout, bytes = layout.InBytes();
  const BlockTileRun* tiles = work.unpacks ? kernels.small : work.tiles;
  BlockTile tile;
  tile.layout = work.unpacks ? &bytes : &layout;
  tile.codes_stride = work.unpacks ? bytes.code_bytes() : layout.block_bytes();
  tile.scales_stride = layout.block_bytes();
  tile.codes = work.panel + layout.front_bytes();
  tile.scales = tile.codes + layout.code_bytes();
  if (layout.step_blocks > 0) {
    tile.scales_stride = layout.kinds() * kBlockColumns * 4;
    kernels.scale(layout, work.panel, work.scales);
    tile.scales = reinterpret_cast<const std::byte*>(work.scales);
  }
  if (work.unpacks) {
    kernels.unpack(layout, work.panel, work.unpacked);
    tile.codes = work.unpacked;
  }
  tile.c_stride = work.c_stride;
  tile.columns = work.columns;
  for (int64_t row = 0, count = 0; row < work.count; row += count) {
    count = std::min<int64_t>(kernels.rows, work.count - row);
    while (tiles[count] == nullptr) --count;
    tile.rows = work.rows + row * layout.row_bytes();
    tile.c = work.c + row * work.c_stride;
    tiles[count](tile);
  }
}

}  // namespace fettle::kernels
