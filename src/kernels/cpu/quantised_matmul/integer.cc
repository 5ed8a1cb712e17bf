// compiled: small
// cpu.quantised.integer: MatMulInteger of any operands and zero points, as sums of 32 bits, or as
// floats where these are scaled and columns have an addend; ConvInteger of computed filters. Bytes
// are multiplied as they are (as u8 times i8); what zero points add follows from sums of rows and
// columns: sum (a - za)(b - zb) = sum ab - za sum b - zb sum a + K za zb. Where the CPU has matrix
// tiles, these compute it (integer_tiles.cc).
#include "kernels/cpu/quantised_matmul/integer.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/requantise.h"
#include "kernels/cpu/quantised/rows.h"
#include "kernels/cpu/quantised_avx2/byte_sum.h"
#include "kernels/cpu/quantised_matmul/panel.h"
#include "kernels/cpu/quantised_matmul/windows.h"

namespace fettle::kernels {
namespace {

constexpr int kMaxColumns = 32;                // of a panel
constexpr int32_t kNoZeros[kMaxColumns] = {};  // where kernels take them off
/// Panels that are computed side by side, row by row: what is written lies together.
constexpr int64_t kMostPanels = 8;
/// Rows that are copied by a task.
constexpr int64_t kRows = 16;

class IntegerMatMul final : public CpuKernel {
 public:
  IntegerMatMul(const Problem& problem, const IntegerProduct& facts, std::optional<SumScale> scale)
      : CpuKernel(problem.threads),
        group_(problem.group),
        operands_(*problem.group),
        f_(facts),
        scale_(std::move(scale)),
        kernels_(GetQuantKernels(facts.p.n)),
        steps_(CeilDiv(facts.p.k, kernels_.wide ? 2 : 4)),
        panel_bytes_(RoundUp(steps_ * kernels_.nr * 4, 64)),
        all_panels_(CeilDiv(f_.p.n, kernels_.nr)) {
    a_matrices_ = f_.a_matrices();
    reads_rows_ = !kernels_.wide && !f_.a.is_signed && (f_.p.k % 4 == 0 || !kernels_.repeats);
    copies_last_ = reads_rows_ && f_.p.k % 4 != 0;
    subtracts_ = kernels_.wide && f_.a.zeros <= 1 && f_.b.zeros <= 1;
    needs_row_sums_ = !subtracts_ && (f_.b.zeros > 0 || f_.b.Shift(kernels_.wide) != 0);
    needs_column_sums_ = !subtracts_ && (f_.a.zeros > 0 || f_.a.Shift(kernels_.wide) != 0);
    begins_ = kernels_.finishes && f_.a.zeros <= 1;
    lessens_ = kernels_.lessens && begins_ && f_.b.zeros <= 1;
    // In the first-level cache, and some tasks for each thread.
    constexpr int64_t kPackedBytes = 16 << 10;
    const int64_t all = std::ssize(f_.p.batches) * all_panels_;
    panels_ =
        std::min({kMostPanels, all_panels_, kPackedBytes / panel_bytes_, all / (4 * lanes())});
    panels_ = std::max<int64_t>(1, panels_);
    copies_ = PerRun<std::byte>((reads_rows_ ? 1 : AllRows()) * RowBytes());
    row_sums_ = PerRun<int32_t>(AllRows());
    packed_ = PerLane<std::byte>(panels_ * panel_bytes_);
    ones_ = PerLane<std::byte>(RowBytes());
    factors_ = PerRun<float>(scale_ ? 2 * all_panels_ * kernels_.nr : 0);
    if (!f_.windows || f_.windows->IsPointwise()) return;
    windows_.emplace(*f_.windows);
    padded_ = PerRun<uint8_t>(RoundUp(windows_->copy_bytes(), 64));
    gathered_ = PerLane<uint8_t>(ByteWindows::kGathered);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all = operands_.packs(*group_);
    if (scale_) all.insert(all.end(), scale_->packs().begin(), scale_->packs().end());
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    if (scale_) scale_->Fill(args, f_.p.n, args.At(factors_), args.At(factors_) + Addends());
    const bool sums = HasZeros(args);
    const int64_t copies = reads_rows_ && !sums ? 0 : CeilDiv(AllRows(), kRows);
    if (windows_) {
      windows_->Copy(args.stream, reinterpret_cast<const uint8_t*>(operands_.input(args, 0)),
                     static_cast<uint8_t>(f_.b.Zero(operands_, args, 0)), args.At(padded_));
    }
    if (copies_last_) CopyRow(RowOf(args, AllRows() - 1), args.At(copies_));
    args.stream.ParallelFor(copies, [&](int64_t task, int) {
      CopyRows(args, task * kRows, std::min(AllRows(), (task + 1) * kRows), sums);
    });
    const int64_t groups = CeilDiv(all_panels_, panels_);
    args.stream.ParallelFor(std::ssize(f_.p.batches) * groups, [&](int64_t task, int lane) {
      RunPanels(args, task / groups, task % groups * panels_, lane);
    });
    return OkStatus();
  }

 private:
  /// What is known of the columns of a panel.
  struct Columns {
    int64_t first = 0, count = 0;
    alignas(64) int32_t sums[kMaxColumns];
    int32_t zeros[kMaxColumns];
    bool has_zeros = false;
  };

  int64_t Addends() const { return all_panels_ * kernels_.nr; }  // behind as many factors
  int64_t RowBytes() const { return steps_ * 4; }                // of a copy, and of a row of ones
  int64_t AllRows() const { return a_matrices_ * f_.p.m; }
  const uint8_t* RowOf(const CpuLaunch& args, int64_t row) const {
    return reinterpret_cast<const uint8_t*>(operands_.input(args, f_.a.operand)) + row * f_.p.k;
  }

  /// The zero point at `i`, of the numbers that are multiplied.
  int32_t Zero(const CpuLaunch& args, const IntegerSide& side, int64_t i) const {
    return side.Zero(operands_, args, i) - side.Shift(kernels_.wide);
  }

  /// What is taken off all elements as they are widened.
  int16_t Subtracted(const CpuLaunch& args, const IntegerSide& side) const {
    return static_cast<int16_t>(subtracts_ ? Zero(args, side, 0) : 0);
  }

  /// Whether a column has a zero point: only then do the sums of rows count.
  bool HasZeros(const CpuLaunch& args) const {
    bool any = Zero(args, f_.b, 0) != 0;
    for (int64_t i = 1; i < f_.b.zeros && !any; ++i) any = Zero(args, f_.b, i) != 0;
    return needs_row_sums_ && any;
  }

  void CopyRows(const CpuLaunch& args, int64_t begin, int64_t end, bool sums) const {
    const uint8_t* from = RowOf(args, begin);
    if (kernels_.wide) {
      const uint8_t* rows[kRows];
      for (int64_t r = begin; r < end; ++r) rows[r - begin] = from + (r - begin) * f_.p.k;
      WidenRows({.pointers = rows,
                 .rows = end - begin,
                 .taps = 1,
                 .mr = kRows,
                 .is_signed = f_.a.is_signed},
                f_.p.k, Subtracted(args, f_.a), RowBytes() / 2,
                reinterpret_cast<int16_t*>(args.At(copies_) + begin * RowBytes()));
    }
    for (int64_t r = begin; r < end; ++r, from += f_.p.k) {
      if (!kernels_.wide && !reads_rows_) CopyRow(from, args.At(copies_) + r * RowBytes());
      if (sums) args.At(row_sums_)[r] = SumOf(from);
    }
  }

  /// The sum of what is multiplied in place of a row.
  int32_t SumOf(const uint8_t* row) const {
    const int32_t sum = sum_bytes_(row, f_.p.k, f_.a.is_signed ? 0x80 : 0);
    return kernels_.wide && f_.a.is_signed ? sum - 128 * static_cast<int32_t>(f_.p.k) : sum;
  }

  void CopyRow(const uint8_t* from, std::byte* copy) const {
    auto* const to = reinterpret_cast<uint8_t*>(copy);
    if (f_.a.is_signed) {
      FlipBytes(from, f_.p.k, to);
    } else {
      std::memcpy(to, from, f_.p.k);
    }
    std::fill(to + f_.p.k, to + RowBytes(), uint8_t{0});
  }

  /// A panel of the columns of B and their sums where they count.
  void PackPanel(const CpuLaunch& args, int64_t batch, int lane, std::byte* panel,
                 Columns& columns) const {
    const PanelForm form{kernels_.wide, f_.b.is_signed, Subtracted(args, f_.b), kernels_.nr};
    if (windows_) {
      windows_->Pack(args.At(padded_), batch, columns.first, columns.count, form,
                     args.At(gathered_, lane), panel);
    } else {
      const auto* b = reinterpret_cast<const uint8_t*>(operands_.input(args, f_.b.operand)) +
                      f_.p.batches[batch].b * f_.p.k * f_.p.n;
      PackSteps({b + columns.first, f_.p.k, columns.count, f_.p.n, 1}, form, panel);
    }
    if (!needs_column_sums_) {
      std::memset(columns.sums, 0, sizeof(columns.sums));
      return;
    }
    const std::byte* ones = args.At(ones_, lane);
    kernels_.tile[1]({.a = &ones, .steps = steps_, .b = panel, .c = columns.sums});
  }

  /// A row of ones, whose product by a panel are its sums.
  void FillOnes(std::byte* ones) const {
    if (kernels_.wide) {
      std::fill_n(reinterpret_cast<int16_t*>(ones), RowBytes() / 2, int16_t{1});
    } else {
      std::memset(ones, 1, RowBytes());
    }
  }

  /// Packs the panels of a task from `first` on. Returns how many there are.
  int64_t PackPanels(const CpuLaunch& args, int64_t batch, int64_t first, int lane,
                     Columns* columns) const {
    const int64_t count = std::min(panels_, all_panels_ - first);
    const bool one_zero = f_.b.zeros <= 1;
    const int32_t zero = one_zero && !subtracts_ ? Zero(args, f_.b, 0) : 0;
    const uint32_t less = -static_cast<uint32_t>(Zero(args, f_.a, 0));  // modulo 2^32
    if (needs_column_sums_) FillOnes(args.At(ones_, lane));
    for (int64_t p = 0; p < count; ++p) {
      Columns& of = columns[p];
      of.first = (first + p) * kernels_.nr;
      of.count = std::min<int64_t>(kernels_.nr, f_.p.n - of.first);
      PackPanel(args, batch, lane, args.At(packed_, lane) + p * panel_bytes_, of);
      if (begins_ && needs_column_sums_) ScaleSums(of.sums, kMaxColumns, less);
      of.has_zeros = zero != 0;
      if (!lessens_) std::fill_n(of.zeros, kMaxColumns, zero);
      for (int64_t n = 0; n < of.count && !one_zero; ++n) {
        of.zeros[n] = Zero(args, f_.b, of.first + n);
        of.has_zeros = of.has_zeros || of.zeros[n] != 0;
      }
    }
    return count;
  }

  /// What zero points of the rows from `first` on add.
  struct RowTerms {
    uint32_t zeros[kMaxQuantRows] = {}, sums[kMaxQuantRows] = {};
    int32_t less[kMaxQuantRows];  // where the kernels take it off
  };

  void RunPanels(const CpuLaunch& args, int64_t batch, int64_t first_panel, int lane) const {
    const std::byte* packed = args.At(packed_, lane);
    Columns columns[kMostPanels];
    const int64_t count = PackPanels(args, batch, first_panel, lane, columns);
    int32_t* out = args.outputs[0].host<int32_t>() + batch * f_.p.m * f_.p.n;
    const int64_t tiles = CeilDiv(f_.p.m, kernels_.mr), height = CeilDiv(f_.p.m, tiles);
    const std::byte* rows_at =
        reads_rows_ ? reinterpret_cast<const std::byte*>(RowOf(args, 0)) : args.At(copies_);
    const int64_t row_bytes = reads_rows_ ? f_.p.k : RowBytes();
    const int64_t most = MostTiles(height);
    const bool has_zeros =
        std::any_of(columns, columns + count, [](const Columns& of) { return of.has_zeros; });
    for (int64_t m = 0, rows = 0; m < f_.p.m; m += rows) {
      const int64_t left = f_.p.m - m, below = std::clamp<int64_t>(left / height, 1, most);
      rows = std::min(left, height * below);
      const int64_t first = f_.p.batches[batch].a * f_.p.m + m;
      const std::byte* pointers[kMaxQuantRows];
      for (int64_t r = 0; r < rows; ++r) pointers[r] = rows_at + (first + r) * row_bytes;
      if (copies_last_ && first + rows == AllRows()) pointers[rows - 1] = args.At(copies_);
      QuantTileArgs tile{.a = pointers, .steps = steps_, .repeat = below};
      if (below > 1) tile.a_step = row_bytes;
      const auto run = kernels_.tile[rows / below];
      RowTerms terms;
      if (!begins_ || has_zeros) Read(args, first, rows, has_zeros, terms);
      if (lessens_ && has_zeros) tile.row_less = terms.less;
      for (int64_t p = 0; p < count; ++p) {
        tile.b = tile.next_b = packed + p * panel_bytes_;
        RunTiles(args, run, tile, {columns[p], terms, rows, out + m * f_.p.n + columns[p].first});
      }
    }
  }

  /// Where the sums of some rows by a panel go.
  struct Target {
    const Columns& of;
    const RowTerms& terms;
    int64_t rows;
    int32_t* to;
  };
  void RunTiles(const CpuLaunch& args, QuantKernels::Run run, QuantTileArgs& tile,
                const Target& target) const {
    const Columns& of = target.of;
    alignas(64) int32_t sums[kMaxQuantSums];
    const bool are_whole = lessens_ || (begins_ && !of.has_zeros);
    const bool is_done = are_whole && of.count == kernels_.nr && (!scale_ || kernels_.scales);
    tile.init = begins_ && needs_column_sums_ ? of.sums : nullptr;
    tile.c = is_done ? target.to : sums;
    tile.c_stride = is_done ? f_.p.n : 0;
    const float* factors = scale_ ? args.At(factors_) + of.first : nullptr;
    tile.scale = is_done ? factors : nullptr;
    tile.add = factors + Addends();
    run(tile);
    if (is_done) return;
    ProductSums all{sums, target.to, target.rows, of.count, kernels_.nr, f_.p.n};
    const int32_t* const column_zeros = lessens_ ? kNoZeros : of.zeros;
    const ZeroTerms zeros{target.terms.zeros, target.terms.sums, of.sums, column_zeros};
    if (!scale_) return TakeOffZeros(all, zeros);
    all.to = sums;
    all.to_stride = kernels_.nr;
    if (!are_whole) TakeOffZeros(all, zeros);
    RunScaledSums({.sums = sums,
                   .sums_stride = kernels_.nr,
                   .rows = target.rows,
                   .columns = of.count,
                   .w_zero = column_zeros,  // read, not used
                   .scale = factors,
                   .add = factors + Addends(),
                   .floats = reinterpret_cast<float*>(target.to),
                   .out_stride = f_.p.n});
  }

  /// Tiles below each other that are computed by one call.
  int64_t MostTiles(int64_t height) const {
    if (!kernels_.repeats) return 1;
    return std::max<int64_t>(
        1, std::min<int64_t>(kMaxQuantRows, kMaxQuantSums / kernels_.nr) / height);
  }

  void Read(const CpuLaunch& args, int64_t first, int64_t rows, bool sums, RowTerms& terms) const {
    // Zero points of rows are those of one matrix.
    const int64_t period = std::max<int64_t>(1, f_.a.zeros);
    const int32_t one_zero = period == 1 ? Zero(args, f_.a, 0) : 0;
    const auto depth = static_cast<uint32_t>(f_.p.k);
    for (int64_t r = first, i = 0; i < rows; ++r, ++i) {
      const auto zero =
          static_cast<uint32_t>(period == 1 ? one_zero : Zero(args, f_.a, r % period));
      if (!begins_) terms.zeros[i] = zero;
      if (sums) terms.sums[i] = static_cast<uint32_t>(args.At(row_sums_)[r]) - depth * zero;
    }
    if (!lessens_) return;
    const auto by = static_cast<uint32_t>(Zero(args, f_.b, 0));
    for (int64_t i = 0; i < rows; ++i) {
      terms.less[i] = static_cast<int32_t>(terms.sums[i] * by);
      terms.sums[i] = 0;
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  IntegerProduct f_;
  std::optional<SumScale> scale_;
  const QuantKernels& kernels_;
  int64_t steps_, panel_bytes_, all_panels_;
  int64_t a_matrices_ = 0;
  int64_t panels_ = 1;        // of a task
  bool reads_rows_ = false;   // where they are
  bool copies_last_ = false;  // behind which nothing may be read
  int32_t (*sum_bytes_)(const uint8_t*, int64_t, uint8_t) = RunsAvx2() ? SumBytesAvx2 : SumOfBytes;
  bool subtracts_ = false;          // zero points are taken off elements
  bool needs_row_sums_ = false;     // columns have zero points
  bool needs_column_sums_ = false;  // rows have
  bool begins_ = false;             // sums begin with what the rows' zero point adds
  bool lessens_ = false;            // and with what the columns' adds
  RunScratch<std::byte> copies_;    // of rows
  RunScratch<int32_t> row_sums_;
  LaneScratch<std::byte> packed_, ones_;
  RunScratch<float> factors_;           // of columns, where there is a scale, and their addends
  std::optional<ByteWindows> windows_;  // of a convolution that is not pointwise
  RunScratch<uint8_t> padded_;          // their copy
  LaneScratch<uint8_t> gathered_;
};

}  // namespace

std::unique_ptr<PreparedKernel> MakeIntegerVectors(const Problem& problem,
                                                   const IntegerProduct& product,
                                                   std::optional<SumScale> scale) {
  return std::make_unique<IntegerMatMul>(problem, product, std::move(scale));
}

}  // namespace fettle::kernels
