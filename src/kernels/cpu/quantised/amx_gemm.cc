// cpu.quantised.gemm.amx made ready.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/task_grid.h"
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

class AmxGemm final : public PreparedKernel {
 public:
  AmxGemm(QuantProduct p, const CpuDevice& device)
      : q_(p.q),
        g_(p.shapes.g),
        taps_(PlanTaps(p.shapes.g, p.pixels.in, 1)),
        operands_(p.problem.group, q_, LayoutFor(p, taps_), false),
        results_(p.problem, q_, p.pixels.out, operands_.layout(), std::move(p.program)),
        blocking_(p.blocking),
        lanes_(device.pool().threads()),
        tile_rows_(TileRowsOf(g_)),
        chunks_(operands_.layout().steps() / kTileSteps),
        run_(GetTileBlock(operands_.signed_x(),
                          !operands_.layout().unsigned_w || operands_.layout().w_shift != 0)) {
    const int64_t l2 = device.info().l2_bytes;
    if (TileLines::Fit(g_, tile_rows_) && !operands_.needs_row_sums())
      lines_.emplace(g_, taps_, tile_rows_, operands_.layout().stacked);
    near_panels_ = std::max<int64_t>(1, l2 / 2 / operands_.layout().panel_bytes());
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{
        MakeQuantPack(q_, operands_.layout(), operands_.layout().w_shift != 0 ? "amx.i8" : "amx")};
    all.insert(all.end(), results_.packs().begin(), results_.packs().end());
    return all;
  }

  std::vector<Alias> aliases() const override { return results_.aliases(); }
  int64_t workspace_bytes() const override { return SharedBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    const int32_t zero = operands_.InputZero(args);
    std::byte* shared = args.workspace.host<std::byte>();
    std::memset(shared, zero, PaddingBytes());
    auto* init = reinterpret_cast<int32_t*>(shared + PaddingBytes());
    operands_.FillInit(args, zero, init);
    auto& stream = static_cast<CpuStream&>(args.stream);
    const std::byte* x = args.inputs[operands_.input()].host<std::byte>();
    if (PaddedBytes() > 0) {
      std::byte* padded = shared + PaddingBytes() + InitBytes();
      lines_->Pad(stream, x, zero, padded);
      x = padded;
    }
    const QuantLaunch launch = results_.Begin(args, nullptr);
    const TaskGrid grid(1, g_.pixels(), g_.groups * operands_.layout().panels(), blocking_);
    stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TaskGrid::Task part = grid.At(i);
      const Task work{launch, x,    {part.row, part.rows},
                      zero,   init, shared + SharedBytes() + lane * LaneBytes()};
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
    const int32_t* init;
    std::byte* scratch;
  };
  /// The parts of a lane's scratch.
  struct Scratch {
    const uint8_t** pointers;
    TileRows* rows;     // [tile][tap]
    std::byte* copies;  // of whole rows
    uint8_t* taps;      // see FillTapPointers
    int32_t* row_sums;
    std::byte* results;
  };

  int64_t PaddingBytes() const { return RoundUp(taps_.depth + 2 * kTileDepth, 64); }
  int64_t InitBytes() const { return RoundUp(operands_.layout().columns() * 4, 64); }
  int64_t PaddedBytes() const { return lines_ ? RoundUp(lines_->padded_bytes(), 64) : 0; }
  int64_t SharedBytes() const { return PaddingBytes() + InitBytes() + PaddedBytes(); }
  int64_t Tiles(int64_t rows) const { return CeilDiv(rows, tile_rows_); }
  int64_t RowTaps() const { return operands_.layout().taps(); }
  int64_t TileBytes() const { return RowTaps() * chunks_ * tile_rows_ * kTileDepth; }

  int64_t PointerBytes() const { return lines_ ? 0 : RoundUp(blocking_.rows * taps_.taps * 8, 64); }
  int64_t RowsBytes() const {
    return RoundUp(Tiles(blocking_.rows) * RowTaps() * int64_t{sizeof(TileRows)}, 64);
  }
  /// By whole lines at most the last tile is copied.
  bool CopiesOne() const { return lines_ && TileLines::FitAll(g_, tile_rows_); }
  int64_t CopyBytes() const { return (CopiesOne() ? 1 : Tiles(blocking_.rows)) * TileBytes(); }
  int64_t TapBytes() const {
    if (lines_) return 0;
    return RoundUp(TapCopyBytes(g_, taps_, blocking_.rows, 1) + 2 * kTileDepth, 64);
  }
  int64_t RowSumBytes() const { return RoundUp(blocking_.rows * 4, 64); }
  int64_t LaneBytes() const {
    return PointerBytes() + RowsBytes() + CopyBytes() + TapBytes() + RowSumBytes() +
           results_.scratch_bytes();
  }
  Scratch Divide(std::byte* at) const {
    const auto take = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    return {.pointers = reinterpret_cast<const uint8_t**>(take(PointerBytes())),
            .rows = reinterpret_cast<TileRows*>(take(RowsBytes())),
            .copies = take(CopyBytes()),
            .taps = reinterpret_cast<uint8_t*>(take(TapBytes())),
            .row_sums = reinterpret_cast<int32_t*>(take(RowSumBytes())),
            .results = at};
  }

  void RunTask(const Task& task, int64_t first, int64_t end) const {
    const LaunchArgs& args = task.launch.args;
    const Scratch scratch = Divide(task.scratch);
    if (!lines_) {
      FillTapPointers<uint8_t>(g_, taps_, reinterpret_cast<const uint8_t*>(task.x),
                               args.workspace.host<uint8_t>(), static_cast<uint8_t>(task.zero),
                               task.range, tile_rows_, scratch.taps, scratch.pointers);
    }
    const AmxTiles tiles(BlockTiles(tile_rows_));
    const int64_t panels = operands_.layout().panels();
    for (int64_t panel = first; panel < end;) {
      const int64_t group = panel / panels, in_group = panel % panels;
      const int64_t count = std::min(end - panel, panels - in_group);
      lines_ ? ReadLines(task, scratch, group) : ReadRows(task, scratch, group);
      // Panels that stay near pass over all rows.
      for (int64_t p = 0; p < count; p += near_panels_)
        RunPanels(task, scratch, group, in_group + p, in_group + std::min(p + near_panels_, count));
      panel += count;
    }
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
        block.init = task.init + (group_panels + panel) * kBlockColumns;
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
        results_.Store(task.launch, tile, scratch.results);
      }
    }
  }

  QuantisedGroup q_;
  ConvGeometry g_;
  TapPlan taps_;
  QuantOperands operands_;
  QuantResults results_;
  Blocking blocking_;
  int lanes_;
  int tile_rows_;
  std::optional<TileLines> lines_;
  int64_t chunks_;  // per tap
  TileBlock run_;
  int64_t near_panels_;  // whose weights take half of the second-level cache
};

}  // namespace

std::unique_ptr<PreparedKernel> MakeAmxGemm(QuantProduct product, const CpuDevice& device) {
  return std::make_unique<AmxGemm>(std::move(product), device);
}

}  // namespace fettle::kernels
