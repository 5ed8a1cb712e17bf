// compiled: small
// cpu.quantised.gemm.amx made ready.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/quantised/gemm_kernel.h"
#include "kernels/cpu/quantised/results.h"
#include "kernels/cpu/quantised/rows.h"
#include "kernels/cpu/quantised/tile_block.h"
#include "kernels/cpu/quantised/tile_lines.h"

namespace fettle::kernels {
namespace {

/// Whether rows are read by lines. Sums of rows take pointers to them.
bool ReadsLines(const QuantProduct& p, int w_shift) {
  return TileLines::Fit(p.shapes.g, TileRowsOf(p.shapes.g)) &&
         WeightZerosAre(*p.problem.group, p.q, w_shift);
}

QuantLayout LayoutFor(const QuantProduct& p, const TapPlan& taps) {
  QuantLayout layout = ReadQuantLayout(*p.problem.group, p.q, p.shapes, taps);
  // Tiles multiply bytes of any sign: u8 weights stay as they are where that saves row sums.
  if (layout.unsigned_w && WeightZerosAre(*p.problem.group, p.q, 0)) layout.w_shift = 0;
  layout.nr = kBlockColumns;
  layout.step_multiple = kTileSteps;
  if (ReadsLines(p, layout.w_shift)) {
    layout.stacked = StackedLinesOf(p.shapes.g, taps);
    return layout;
  }
  // Rows are copied anyway: chunks that would be half empty are filled across taps.
  const int64_t apart = layout.steps() * 4 * layout.all_taps();
  layout.joined = layout.all_taps() > 1 &&
                  apart * 7 > 8 * RoundUp(layout.all_taps() * layout.tap_depth(), kTileDepth);
  return layout;
}

class AmxGemm final : public QuantKernel {
 public:
  AmxGemm(QuantProduct p, const QuantLayout& layout, const TapPlan& taps, const CpuDevice& device)
      : QuantKernel(p, layout, layout.w_shift != 0 ? "amx.i8" : "amx", false, device),
        taps_(taps),
        blocking_(p.blocking),
        tile_rows_(TileRowsOf(g_)),
        chunks_(operands_.layout().steps() / kTileSteps),
        run_(GetTileBlock(operands_.signed_x(),
                          !operands_.layout().unsigned_w || operands_.layout().w_shift != 0)) {
    const int64_t l2 = device.info().l2_bytes;
    if (TileLines::Fit(g_, tile_rows_) && !operands_.needs_row_sums())
      lines_.emplace(g_, taps_, tile_rows_, operands_.layout().stacked);
    near_panels_ = std::max<int64_t>(1, l2 / 2 / operands_.layout().panel_bytes());
    DeclareScratch();
  }

  Status Run(const CpuLaunch& args) const override {
    const int32_t zero = operands_.InputZero(args);
    std::memset(args.At(padding_), zero, PaddingBytes());
    operands_.FillInit(args, zero, args.At(init_));
    const std::byte* x = args.inputs[operands_.input()].host<std::byte>();
    if (lines_ && lines_->padded_bytes() > 0) {
      lines_->Pad(args.stream, x, zero, args.At(padded_));
      x = args.At(padded_);
    }
    const QuantLaunch launch = Begin(args, nullptr);
    const TaskGrid grid(1, g_.pixels(), g_.groups * operands_.layout().panels(), blocking_);
    args.stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TaskGrid::Task part = grid.At(i);
      const Task work{launch, x, {part.row, part.rows}, zero, lane};
      RunTask(work, part.panel, part.panel_end);
    });
    results_.End(launch);
    return OkStatus();
  }

 private:
  struct Task {
    const QuantLaunch& launch;
    const std::byte* x;  // the input, or its copy with padding
    PixelRange range;
    int32_t zero;
    int lane;
  };
  /// The parts of a lane's scratch.
  struct Scratch {
    const uint8_t** pointers;
    TileRows* rows;     // [tile][tap]
    std::byte* copies;  // of whole rows
    uint8_t* taps;      // see FillTapPointers
    int32_t* row_sums;
  };

  int64_t PaddingBytes() const { return taps_.depth + 2 * kTileDepth; }
  int64_t Tiles(int64_t rows) const { return CeilDiv(rows, tile_rows_); }
  int64_t RowTaps() const { return operands_.layout().taps(); }
  int64_t TileBytes() const { return RowTaps() * chunks_ * tile_rows_ * kTileDepth; }

  /// By whole lines at most the last tile is copied.
  bool CopiesOne() const { return lines_ && TileLines::FitAll(g_, tile_rows_); }
  void DeclareScratch() {
    if (lines_) {
      padded_ = PerRun<std::byte>(lines_->padded_bytes());
    } else {
      pointers_ = PerLane<const uint8_t*>(blocking_.rows * taps_.taps);
      tap_copies_ = PerLane<uint8_t>(TapCopyElements(g_, taps_, blocking_.rows) + 2 * kTileDepth);
    }
    rows_ = PerLane<TileRows>(Tiles(blocking_.rows) * RowTaps());
    copies_ = PerLane<std::byte>((CopiesOne() ? 1 : Tiles(blocking_.rows)) * TileBytes());
    row_sums_ = PerLane<int32_t>(blocking_.rows);
  }
  Scratch ScratchOf(const Task& task) const {
    const CpuLaunch& args = task.launch.args;
    return {args.At(pointers_, task.lane), args.At(rows_, task.lane), args.At(copies_, task.lane),
            args.At(tap_copies_, task.lane), args.At(row_sums_, task.lane)};
  }

  void RunTask(const Task& task, int64_t first, int64_t end) const {
    const Scratch scratch = ScratchOf(task);
    if (!lines_) {
      FillTapPointers<uint8_t>(g_, taps_, reinterpret_cast<const uint8_t*>(task.x),
                               task.launch.args.At(padding_), static_cast<uint8_t>(task.zero),
                               task.range, tile_rows_, scratch.taps, scratch.pointers);
    }
    const AmxTiles tiles(BlockTiles(tile_rows_));
    ForEachGroup(first, end, operands_.layout().panels(),
                 [&](int64_t group, int64_t panel, int64_t panel_end) {
                   lines_ ? ReadLines(task, scratch, group) : ReadRows(task, scratch, group);
                   // Panels that stay near pass over all rows.
                   for (int64_t p = panel; p < panel_end; p += near_panels_)
                     RunPanels(task, scratch, group, p, std::min(p + near_panels_, panel_end));
                 });
  }

  void ReadLines(const Task& task, const Scratch& scratch, int64_t group) const {
    const int64_t apart = CopiesOne() ? 0 : TileBytes();
    for (int64_t tile = 0; tile < Tiles(task.range.rows); ++tile) {
      const int64_t row = tile * tile_rows_;
      lines_->Read(task.x,
                   {task.range.begin + row, std::min<int64_t>(tile_rows_, task.range.rows - row)},
                   group * operands_.layout().ic, chunks_, scratch.copies + tile * apart,
                   scratch.rows + tile * RowTaps());
    }
  }

  /// The rows of a task as tiles of one group.
  void ReadRows(const Task& task, const Scratch& scratch, int64_t group) const {
    const QuantLayout& layout = operands_.layout();
    for (int64_t tile = 0; tile < Tiles(task.range.rows); ++tile) {
      const int64_t row = tile * tile_rows_;
      const RowPointers rows{.at = scratch.pointers + row * taps_.taps,
                             .rows = std::min<int64_t>(tile_rows_, task.range.rows - row),
                             .taps = taps_.taps,
                             .offset = group * layout.ic};
      TileRows* out = scratch.rows + tile * RowTaps();
      std::byte* copies = scratch.copies + tile * TileBytes();
      if (layout.joined) {
        *out = JoinTileRows(rows, tile_rows_, layout.tap_depth(), copies);
      } else {
        ReadTileRows(rows, tile_rows_, chunks_, copies, out);
      }
    }
    if (!operands_.needs_row_sums()) return;
    SumRows({.pointers = scratch.pointers,
             .offset = group * layout.ic,
             .rows = task.range.rows,
             .taps = taps_.taps,
             .mr = tile_rows_,
             .is_signed = operands_.signed_x(),
             .flips = false},
            layout, scratch.row_sums);
  }

  void RunPanels(const Task& task, const Scratch& scratch, int64_t group, int64_t first,
                 int64_t end) const {
    const QuantLayout& layout = operands_.layout();
    alignas(64) int32_t sums[kMaxBlockRows * kBlockColumns];
    TileBlockArgs block{.taps = RowTaps(), .chunks = chunks_, .sums = sums};
    block.tile_rows = tile_rows_;
    const int64_t panel_bytes = layout.panel_bytes(), group_panels = group * layout.panels();
    const std::byte* weights =
        task.launch.args.packed[0].host<std::byte>() + group_panels * panel_bytes;
    for (int64_t row = 0; row < task.range.rows; row += 2 * tile_rows_) {
      const int64_t rows = std::min<int64_t>(2 * tile_rows_, task.range.rows - row);
      block.a[0] = scratch.rows + row / tile_rows_ * block.taps;
      block.a[1] = rows > tile_rows_ ? block.a[0] + block.taps : nullptr;
      for (int64_t panel = first; panel < end; ++panel) {
        block.b = weights + panel * panel_bytes;
        block.init = task.launch.args.At(init_) + (group_panels + panel) * kBlockColumns;
        block.narrow = layout.oc - panel * kBlockColumns <= kTileColumns;
        block.b_is_far = row == 0;
        run_(block);
        const QuantTile tile{
            .sums = sums,
            .stride = kBlockColumns,
            .row_sums = operands_.needs_row_sums() ? scratch.row_sums + row : nullptr,
            .rows = rows,
            .pixel = task.range.begin + row,
            .group = group,
            .panel = panel};
        Store(task.launch, tile, task.lane);
      }
    }
  }

  TapPlan taps_;
  Blocking blocking_;
  int tile_rows_;
  std::optional<TileLines> lines_;
  int64_t chunks_;  // per tap
  TileBlock run_;
  int64_t near_panels_;  // whose weights take half of the second-level cache
  RunScratch<uint8_t> padding_ = PerRun<uint8_t>(PaddingBytes());
  RunScratch<std::byte> padded_;  // the input
  LaneScratch<const uint8_t*> pointers_;
  LaneScratch<uint8_t> tap_copies_;
  LaneScratch<TileRows> rows_;
  LaneScratch<std::byte> copies_;
  LaneScratch<int32_t> row_sums_;
};

}  // namespace

std::unique_ptr<PreparedKernel> MakeAmxGemm(QuantProduct product, const CpuDevice& device) {
  const TapPlan taps = PlanTaps(product.shapes.g, product.pixels.in, 1);
  const QuantLayout layout = LayoutFor(product, taps);
  return std::make_unique<AmxGemm>(std::move(product), layout, taps, device);
}

}  // namespace fettle::kernels
