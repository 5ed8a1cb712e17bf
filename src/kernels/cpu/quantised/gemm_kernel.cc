#include "kernels/cpu/quantised/gemm_kernel.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/quantised/padded_rows.h"
#include "kernels/cpu/quantised/results.h"
#include "kernels/cpu/quantised/rows.h"
#include "kernels/cpu/quantised_avx2/wide_row.h"

namespace fettle::kernels {
namespace {

/// The largest panel that is fetched ahead, and the tiles that share that.
constexpr int64_t kMostAhead = 256 * 1024, kFetchers = 4;

/// Has `work`, the `tile`th one over a panel, fetch its share of the panel behind.
void FetchNext(int64_t panel_bytes, int64_t fetchers, int64_t tile, QuantTileArgs& work) {
  const int64_t steps = work.taps * work.steps;
  work.next_step = tile < fetchers && panel_bytes <= kMostAhead && steps > 0
                       ? CeilDiv(panel_bytes, 2 * fetchers * steps)
                       : 0;
  work.next_b = work.b + panel_bytes + 2 * steps * work.next_step * tile;
}

QuantLayout LayoutFor(const QuantProduct& p, const TapPlan& taps, const QuantKernels& kernels) {
  QuantLayout layout = ReadQuantLayout(*p.problem.group, p.q, p.shapes, taps);
  layout.wide = layout.joined = kernels.wide;
  layout.narrow = kernels.narrow;
  layout.bits = kernels.bits;
  layout.nr = kernels.nr;
  return layout;
}

class QuantGemm final : public QuantKernel {
 public:
  QuantGemm(QuantProduct p, const QuantLayout& layout, const TapPlan& taps, const CpuDevice& device)
      : QuantKernel(p, layout, p.kernels->name, !p.kernels->wide, device),
        out_(p.pixels.out),
        taps_(taps),
        kernels_(*p.kernels),
        blocking_(p.blocking),
        run_(out_.is_channels_last() ? g_.pixels() : out_.pixels),
        flips_(operands_.signed_x() && !kernels_.wide) {
    // Of wide ones those of few channels, whose taps would be a pointer and a call each.
    const bool reads_taps = kernels_.wide ? taps_.rows && RunsAvx2() : kernels_.finishes;
    if (reads_taps && taps_.in.is_channels_last() && PaddedRows::Fit(g_))
      rows_.emplace(g_, taps_, flips_);
    // Layouts reckon with divisions: once, not for each tile.
    steps_ = operands_.layout().steps();
    panel_bytes_ = operands_.layout().panel_bytes();
    copied_bytes_ = CopiedBytes(p);
    if (operands_.needs_row_sums() && kernels_.lessens && !results_.makes_bytes())
      less_ = operands_.WeightZero();
    DeclareScratch();
  }

  Status Run(const CpuLaunch& args) const override {
    int32_t zero = operands_.InputZero(args);
    int32_t* init = args.At(init_);
    operands_.FillInit(args, zero, init);
    const auto* x = args.inputs[operands_.input()].host<uint8_t>();
    if (flips_) zero += 128;
    if (copied_bytes_ > 0) x = CopyInput(args, x, static_cast<uint8_t>(zero));
    std::memset(args.At(padding_), zero, PaddingBytes());
    const QuantLaunch launch = Begin(args, kernels_.finishes ? nullptr : init);
    const TaskGrid grid(g_.pixels() / run_, run_, g_.groups * operands_.layout().panels(),
                        blocking_);
    args.stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TaskGrid::Task part = grid.At(i);
      const int64_t tiles = CeilDiv(part.rows, kernels_.mr);
      const Task work{.launch = launch,
                      .x = x,
                      .init = init,
                      .range = {part.row, part.rows},
                      .zero = zero,
                      .lane = lane,
                      .tile_rows = static_cast<int>(CeilDiv(part.rows, tiles))};
      RunTask(work, part.panel, part.panel_end);
    });
    results_.End(launch);
    return OkStatus();
  }

 private:
  struct Task {
    const QuantLaunch& launch;
    const uint8_t* x;
    const int32_t* init;  // of all columns
    PixelRange range;
    int32_t zero;
    int lane;
    /// Rows of a tile: as many tiles as have to be, of nearly equal height.
    int tile_rows;
  };

  void DeclareScratch() {
    copy_ = PerRun<uint8_t>(copied_bytes_);
    pointers_ = PerLane<const uint8_t*>(blocking_.rows * RowPointers());
    if (!rows_) tap_copies_ = PerLane<uint8_t>(TapCopyElements(g_, taps_, blocking_.rows) + 64);
    if (kernels_.wide)
      wide_ = PerLane<int16_t>(blocking_.rows * (WideRowBytes() / 2 + 4) + kWideTapsBehind);
    row_sums_ = PerLane<int32_t>(blocking_.rows);
  }
  int64_t PaddingBytes() const { return taps_.depth + 64; }
  int64_t RowPointers() const { return rows_ ? 1 : taps_.taps; }
  int64_t WideRowBytes() const { return steps_ * 4; }

  /// The input with its padding, or as u8 where it is i8 and products are of u8, and room to read
  /// past it; otherwise 0.
  int64_t CopiedBytes(const QuantProduct& p) const {
    if (rows_) return rows_->copy_bytes() == 0 ? 0 : RoundUp(rows_->copy_bytes() + 64, 64);
    if (!flips_) return 0;
    const State& state = p.problem.states.inputs[operands_.input()];
    return RoundUp(StateBytes(p.problem.shape(q_.x), state) + 64, 64);
  }

  /// Once here, not with each of the passes over it.
  const uint8_t* CopyInput(const CpuLaunch& args, const uint8_t* x, uint8_t zero) const {
    uint8_t* copy = args.At(copy_);
    if (rows_) {
      rows_->Copy(args.stream, x, zero, copy);
      return copy;
    }
    constexpr int64_t kTaskBytes = 32 * 1024;
    const int64_t bytes = copied_bytes_ - 64;
    args.stream.ParallelFor(CeilDiv(bytes, kTaskBytes), [&](int64_t task, int) {
      const int64_t at = task * kTaskBytes;
      FlipBytes(x + at, std::min(kTaskBytes, bytes - at), copy + at);
    });
    return copy;
  }

  void RunTask(const Task& task, int64_t first, int64_t end) const {
    const CpuLaunch& args = task.launch.args;
    const uint8_t** pointers = args.At(pointers_, task.lane);
    if (rows_) {
      rows_->Find(task.x, task.range, pointers);
    } else {
      FillTapPointers<uint8_t>(g_, taps_, task.x, args.At(padding_),
                               static_cast<uint8_t>(task.zero), task.range, task.tile_rows,
                               args.At(tap_copies_, task.lane), pointers);
    }
    ForEachGroup(first, end, operands_.layout().panels(),
                 [&](int64_t group, int64_t panel, int64_t panel_end) {
                   RunGroup(task, pointers, group, panel, panel_end);
                 });
  }

  /// The panels [first, end) of one group.
  void RunGroup(const Task& task, const uint8_t* const* pointers, int64_t group, int64_t first,
                int64_t end) const {
    const QuantLayout& layout = operands_.layout();
    int16_t* wide = task.launch.args.At(wide_, task.lane);
    int32_t* row_sums = task.launch.args.At(row_sums_, task.lane);
    const TapRows rows_of{.pointers = pointers,
                          .tap_offsets = rows_ ? rows_->tap_offsets().data() : nullptr,
                          .offset = group * layout.ic,
                          .rows = task.range.rows,
                          .taps = taps_.taps,
                          .mr = task.tile_rows,
                          .is_signed = operands_.signed_x() && !flips_};
    if (kernels_.wide && rows_) {
      const int excess = operands_.signed_x() ? 128 : 0;
      WidenTapsAvx2({.rows = {pointers, pointers + task.range.rows},
                     .taps = rows_->tap_offsets(),
                     .depth = taps_.depth,
                     .flip = static_cast<uint8_t>(excess),
                     .zero = static_cast<int16_t>(task.zero + excess),
                     .stride = WideRowBytes() / 2},
                    wide);
    } else if (kernels_.wide) {
      WidenRows(rows_of, g_.groups == 1 ? taps_.depth : layout.ic, static_cast<int16_t>(task.zero),
                WideRowBytes() / 2, wide);
    }
    if (operands_.needs_row_sums()) SumRows(rows_of, layout, row_sums);
    for (int64_t r = 0; less_ && r < task.range.rows; ++r)
      row_sums[r] = static_cast<int32_t>(static_cast<uint32_t>(row_sums[r]) * *less_);
    for (int64_t panel = first; panel < end; ++panel)
      RunPanel(task, pointers, wide, row_sums, group, panel);
  }

  /// A tile of the panel, but for its rows and sums; it finishes its results by `finish` where it
  /// can.
  QuantTileArgs TileOf(const Task& task, int64_t group, int64_t panel,
                       RequantiseArgs& finish) const {
    const QuantLayout& layout = operands_.layout();
    QuantTileArgs tile;
    tile.a_offset = kernels_.wide ? 0 : group * layout.ic;
    tile.tap_offsets = rows_ && !kernels_.wide ? rows_->tap_offsets().data() : nullptr;
    tile.taps = layout.taps();
    tile.steps = steps_;
    tile.b = task.launch.args.packed[0].host<std::byte>() + group * layout.panels() * panel_bytes_ +
             panel * panel_bytes_;
    if (kernels_.finishes) {
      tile.init = task.init + (group * layout.panels() + panel) * layout.nr;
      if (results_.TilesFinish() && !operands_.needs_row_sums()) {
        finish = results_.OfPanel(task.launch, group, panel);
        finish.bytes += task.range.begin * finish.out_stride;
        tile.results = &finish;
      }
    }
    return tile;
  }

  const std::byte* WideRow(const int16_t* wide, int64_t row) const {
    return reinterpret_cast<const std::byte*>(wide) + row * WideRowBytes();
  }

  /// Has tiles of full height of a panel fetch the one behind: weights come from memory where they
  /// are more than the caches hold, and a panel's first tile would wait for them alone.
  void FetchBehind(const Task& task, QuantTileArgs& tile) const {
    const int64_t steps = task.range.rows / task.tile_rows * steps_;
    tile.next_b = tile.b + panel_bytes_;
    tile.next_step = panel_bytes_ <= kMostAhead ? CeilDiv(panel_bytes_, steps) : 0;
  }

  /// All tiles of full height of a panel, which finish their results; the number of their rows.
  int64_t FinishFullTiles(const Task& task, const int16_t* wide, QuantTileArgs tile) const {
    const std::byte* first = WideRow(wide, 0);
    tile.a = &first;
    tile.repeat = task.range.rows / task.tile_rows;
    tile.a_step = WideRowBytes();
    FetchBehind(task, tile);
    kernels_.tile[task.tile_rows](tile);
    return tile.repeat * task.tile_rows;
  }

  /// The same of tiles whose results are stored, for as many at once as that takes.
  int64_t StoreFullTiles(const Task& task, const int16_t* wide, QuantTileArgs tile,
                         QuantTile results) const {
    alignas(64) int32_t sums[kMaxTileSums];
    const int64_t most = kMaxTileSums / (task.tile_rows * kernels_.nr);
    const int64_t count = task.range.rows / task.tile_rows;
    tile.a_step = WideRowBytes();
    tile.c = sums;
    results.sums = sums;
    FetchBehind(task, tile);
    for (int64_t done = 0; done < count; done += tile.repeat) {
      const std::byte* first = WideRow(wide, done * task.tile_rows);
      tile.a = &first;
      tile.repeat = std::min(most, count - done);
      kernels_.tile[task.tile_rows](tile);
      tile.next_b += tile.repeat * steps_ * tile.next_step;
      results.rows = tile.repeat * task.tile_rows;
      Store(task.launch, results, task.lane);
      results.pixel += results.rows;
      if (results.row_sums != nullptr) results.row_sums += results.rows;
    }
    return count * task.tile_rows;
  }

  bool StoresInPlace(const Task& task, const QuantTile& first, QuantTileArgs& tile) const {
    return kernels_.finishes && (less_ || !operands_.needs_row_sums()) &&
           results_.StoreInPlace(task.launch, first, kernels_.scales, tile);
  }

  void RunPanel(const Task& task, const uint8_t* const* pointers, const int16_t* wide,
                const int32_t* row_sums, int64_t group, int64_t panel) const {
    alignas(64) int32_t sums[kMaxQuantSums];
    RequantiseArgs finish;
    QuantTileArgs tile = TileOf(task, group, panel, finish);
    tile.c = sums;
    QuantTile results{.sums = sums,
                      .stride = kernels_.nr,
                      .row_sums = operands_.needs_row_sums() && !less_ ? row_sums : nullptr,
                      .pixel = task.range.begin,
                      .group = group,
                      .panel = panel};
    const int64_t fetchers =
        kernels_.wide ? 0 : std::min(CeilDiv(task.range.rows, task.tile_rows), kFetchers);
    const bool finishes = tile.results != nullptr || StoresInPlace(task, results, tile);
    if (kernels_.repeats && kernels_.wide && steps_ > 0)
      results.rows =
          finishes ? FinishFullTiles(task, wide, tile) : StoreFullTiles(task, wide, tile, results);
    for (int64_t row = results.rows; row < task.range.rows; row += results.rows) {
      finish.bytes += results.rows * finish.out_stride;
      tile.c += results.rows * tile.c_stride;
      results.rows = std::min<int64_t>(task.tile_rows, task.range.rows - row);
      if (fetchers > 0) FetchNext(panel_bytes_, fetchers, row / task.tile_rows, tile);
      const std::byte* wide_rows[kMaxQuantRows];
      for (int64_t r = 0; kernels_.wide && r < results.rows; ++r)
        wide_rows[r] = WideRow(wide, row + r);
      tile.a = kernels_.wide
                   ? wide_rows
                   : reinterpret_cast<const std::byte* const*>(pointers + row * RowPointers());
      if (less_) tile.row_less = row_sums + row;
      kernels_.tile[results.rows](tile);
      if (finishes) continue;
      results.pixel = task.range.begin + row;
      if (results.row_sums != nullptr) results.row_sums = row_sums + row;
      Store(task.launch, results, task.lane);
    }
  }

  PixelLayout out_;
  TapPlan taps_;
  const QuantKernels& kernels_;
  Blocking blocking_;
  int64_t run_;  // pixels that follow each other in the output
  bool flips_;   // i8 to u8
  /// The zero point of all columns, where tiles take what it adds off their rows.
  std::optional<uint32_t> less_;
  std::optional<PaddedRows> rows_;
  int64_t steps_, panel_bytes_;  // of the layout
  int64_t copied_bytes_;
  RunScratch<uint8_t> padding_ = PerRun<uint8_t>(PaddingBytes());
  RunScratch<uint8_t> copy_;  // of the input
  LaneScratch<const uint8_t*> pointers_;
  LaneScratch<uint8_t> tap_copies_;
  LaneScratch<int16_t> wide_;
  LaneScratch<int32_t> row_sums_;
};

}  // namespace

std::unique_ptr<PreparedKernel> MakeQuantGemm(QuantProduct product, const CpuDevice& device) {
  const TapPlan taps = PlanTaps(product.shapes.g, product.pixels.in, 1);
  const QuantLayout layout = LayoutFor(product, taps, *product.kernels);
  return std::make_unique<QuantGemm>(std::move(product), layout, taps, device);
}

}  // namespace fettle::kernels
