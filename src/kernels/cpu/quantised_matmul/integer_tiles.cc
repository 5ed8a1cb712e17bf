// MatMulInteger by matrix tiles (Intel AMX), which take bytes of any sign as they are; see
// integer.cc for what zero points add.
#include <algorithm>
#include <cstring>

#include "device/cpu/amx.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/rows.h"
#include "kernels/cpu/quantised/tile_block.h"
#include "kernels/cpu/quantised_matmul/integer.h"
#include "kernels/cpu/quantised_matmul/panel.h"

namespace fettle::kernels {
namespace {

/// Rows that are copied by a task.
constexpr int64_t kRows = 16;

class IntegerTiles final : public CpuKernel {
 public:
  IntegerTiles(const Problem& problem, const IntegerProduct& product)
      : CpuKernel(problem.threads),
        group_(problem.group),
        operands_(*problem.group),
        f_(product),
        run_(GetTileBlock(product.a.is_signed, product.b.is_signed)),
        all_rows_(product.a_matrices() * product.p.m),
        tile_rows_(
            static_cast<int>(CeilDiv(product.p.m, CeilDiv(product.p.m, int64_t{kMostTileRows})))),
        copies_(product.p.k % kTileDepth != 0 || product.p.m % tile_rows_ != 0) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  Status Run(const CpuLaunch& args) const override {
    if (copies_ || f_.b.zeros > 0) {
      args.stream.ParallelFor(CeilDiv(all_rows_, kRows), [&](int64_t task, int) {
        for (int64_t r = task * kRows; r < std::min(all_rows_, (task + 1) * kRows); ++r)
          ReadRow(args, r);
      });
    }
    const int64_t panels = CeilDiv(f_.p.n, int64_t{kBlockColumns});
    args.stream.ParallelFor(std::ssize(f_.p.batches) * panels, [&](int64_t task, int lane) {
      RunPanel(args, task / panels, task % panels * kBlockColumns, lane);
    });
    return OkStatus();
  }

 private:
  struct Panel {
    int64_t columns = 0;
    alignas(64) int32_t sums[kBlockColumns];  // of columns
    int32_t zeros[kBlockColumns] = {};
  };

  int64_t Chunks() const { return CeilDiv(f_.p.k, kTileDepth); }
  int64_t RowBytes() const { return copies_ ? Chunks() * kTileDepth : f_.p.k; }
  int64_t PanelBytes() const { return Chunks() * kTileDepth * kBlockColumns; }
  const std::byte* Rows(const CpuLaunch& args) const {
    return copies_ ? args.At(rows_) : operands_.input(args, 0);
  }

  /// Copies a row, and sums it.
  void ReadRow(const CpuLaunch& args, int64_t row) const {
    const auto* from = reinterpret_cast<const uint8_t*>(operands_.input(args, 0)) + row * f_.p.k;
    if (f_.b.zeros > 0) args.At(row_sums_)[row] = SumOfRow(from);
    if (!copies_) return;
    std::byte* to = args.At(rows_) + row * RowBytes();
    std::memcpy(to, from, f_.p.k);
    std::memset(to + f_.p.k, 0, RowBytes() - f_.p.k);
  }
  int32_t SumOfRow(const uint8_t* row) const {
    if (!f_.a.is_signed) return SumOfBytes(row, f_.p.k);
    return SumOfBytes(row, f_.p.k, 0x80) - 128 * static_cast<int32_t>(f_.p.k);
  }

  /// Packs the columns of B from `column` on, and sums them by a row of ones.
  void ReadPanel(const CpuLaunch& args, const uint8_t* b, int64_t column, std::byte* packed,
                 Panel& panel) const {
    auto* to = reinterpret_cast<uint8_t*>(packed);
    PackByteSteps({b, f_.p.k, panel.columns, f_.p.n, 1}, 0, kBlockColumns, to);
    const int64_t done = CeilDiv(f_.p.k, int64_t{4}) * 4 * kBlockColumns;
    std::memset(to + done, 0, PanelBytes() - done);
    for (int64_t n = 0; n < panel.columns; ++n)
      panel.zeros[n] = f_.b.Zero(operands_, args, column + n);
    if (f_.a.zeros == 0) {
      std::fill_n(panel.sums, kBlockColumns, 0);
      return;
    }
    alignas(64) std::byte ones[kTileDepth];
    std::fill_n(ones, kTileDepth, std::byte{1});
    alignas(64) int32_t sums[kMaxBlockRows * kBlockColumns];
    const TileRows row{.first = ones};
    TileBlockArgs block = BlockOf(packed, panel, sums);
    block.a[0] = &row;
    run_(block);
    std::copy_n(sums, kBlockColumns, panel.sums);
  }

  TileBlockArgs BlockOf(const std::byte* packed, const Panel& panel, int32_t* sums) const {
    static constexpr int32_t kNone[kBlockColumns] = {};
    TileBlockArgs block{.chunks = Chunks(), .b = packed};
    block.narrow = panel.columns <= kTileColumns;
    block.init = kNone;
    block.sums = sums;
    block.tile_rows = tile_rows_;
    return block;
  }

  void RunPanel(const CpuLaunch& args, int64_t batch, int64_t column, int lane) const {
    Panel panel{.columns = std::min<int64_t>(kBlockColumns, f_.p.n - column)};
    std::byte* packed = args.At(packed_, lane);
    const auto* b = reinterpret_cast<const uint8_t*>(operands_.input(args, 1)) +
                    f_.p.batches[batch].b * f_.p.k * f_.p.n + column;
    const AmxTiles tiles(BlockTiles(tile_rows_));
    ReadPanel(args, b, column, packed, panel);
    auto* out =
        reinterpret_cast<int32_t*>(operands_.output(args, 0)) + batch * f_.p.m * f_.p.n + column;
    alignas(64) int32_t sums[kMaxBlockRows * kBlockColumns];
    TileBlockArgs block = BlockOf(packed, panel, sums);
    TileRows rows[2];
    for (int64_t m = 0; m < f_.p.m; m += 2 * tile_rows_) {
      const int64_t count = std::min<int64_t>(2 * tile_rows_, f_.p.m - m);
      const int64_t first = f_.p.batches[batch].a * f_.p.m + m;
      for (int i = 0; i < 2; ++i) {
        rows[i] = {Rows(args) + (first + i * tile_rows_) * RowBytes(), RowBytes(), kTileDepth};
        block.a[i] = count > i * tile_rows_ ? &rows[i] : nullptr;
      }
      run_(block);
      for (int64_t r = 0; r < count; ++r)
        Finish(args, first + r, panel, sums + r * kBlockColumns, out + (m + r) * f_.p.n);
    }
  }

  /// Takes off what zero points add to the sums of a row.
  void Finish(const CpuLaunch& args, int64_t row, const Panel& panel, const int32_t* sums,
              int32_t* to) const {
    if (f_.a.zeros == 0 && f_.b.zeros == 0) {
      std::memcpy(to, sums, panel.columns * 4);
      return;
    }
    // Zero points of rows are those of one matrix.
    const auto zero =
        static_cast<uint32_t>(f_.a.Zero(operands_, args, row % std::max<int64_t>(1, f_.a.zeros)));
    const uint32_t all = f_.b.zeros == 0 ? 0 : static_cast<uint32_t>(args.At(row_sums_)[row]);
    const uint32_t sum = all - static_cast<uint32_t>(f_.p.k) * zero;
    TakeOffZeros({sums, to, 1, panel.columns}, {&zero, &sum, panel.sums, panel.zeros});
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  IntegerProduct f_;
  TileBlock run_;
  int64_t all_rows_;
  int tile_rows_;
  bool copies_;
  /// A last tile reads rows behind the last one.
  RunScratch<std::byte> rows_ =
      PerRun<std::byte>(copies_ ? (all_rows_ + kMaxBlockRows) * RowBytes() : 0);
  RunScratch<int32_t> row_sums_ = PerRun<int32_t>(all_rows_);
  LaneScratch<std::byte> packed_ = PerLane<std::byte>(PanelBytes());
};

}  // namespace

bool IntegerTilesFit(const IntegerProduct& product) {
  if (product.windows) return false;
  // A few rows, or a few columns, take less than the columns that are packed.
  return GetAmxSets().int8 && RunsAvx512Vnni() && product.p.m >= 4 && product.p.k >= 16;
}

std::unique_ptr<PreparedKernel> MakeIntegerTiles(const Problem& problem,
                                                 const IntegerProduct& product) {
  return std::make_unique<IntegerTiles>(problem, product);
}

}  // namespace fettle::kernels
