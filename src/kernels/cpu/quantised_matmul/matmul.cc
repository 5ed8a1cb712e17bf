// compiled: small
// cpu.quantised.matmul: products of two computed tensors of bytes, as attention has them: a task
// packs its part of the second operand, and multiplies rows of the first by it.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised/requantise.h"
#include "kernels/cpu/quantised/rows.h"
#include "kernels/cpu/quantised_matmul/panel.h"
#include "kernels/family.h"
#include "kernels/match/product.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products that i32 holds, rounded down.
constexpr int64_t kMaxDepth = 33000;
/// Rows whose copies and pointers are made at once, and what a task packs.
constexpr int64_t kMostRows = 256, kMostPacked = 192 * 1024;
constexpr int kMaxColumns = 32;  // of a panel

struct Facts {
  QuantisedGroup q;
  Product p;
};

class QuantMatMul final : public CpuKernel {
 public:
  QuantMatMul(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads), p_(facts.p), kernels_(GetQuantKernels(p_.n)) {
    const ir::Graph& group = *problem.group;
    const QuantisedGroup& q = facts.q;
    a_ = IndexOf(group.inputs, q.x);
    b_ = IndexOf(group.inputs, q.w);
    const auto zero_of = [&](ir::ValueId id) {
      return id == ir::kAbsent ? 0 : static_cast<int32_t>(group.value(id).constant->GetInt(0));
    };
    signed_a_ = group.value(q.x).dtype == DType::kI8;
    signed_b_ = group.value(q.w).dtype == DType::kI8;
    a_zero_ = zero_of(q.x_zero);
    b_zero_ = zero_of(q.w_zero);
    if (!kernels_.wide) {
      a_zero_ += signed_a_ ? 128 : 0;
      b_zero_ -= signed_b_ ? 0 : 128;
    }
    ReadResults(group, q);
    CutTasks();
    const int64_t rows = std::min(kMostRows, p_.m);
    packed_ = PerLane<std::byte>(packed_panels_ * PanelBytes());
    init_ = PerLane<int32_t>(packed_panels_ * kernels_.nr);
    pointers_ = PerLane<const std::byte*>(rows);
    copies_ = PerLane<std::byte>((CopiesRows() ? rows : 1) * RowBytes() + 64);
    row_sums_ = PerLane<int32_t>(rows);
  }

  Status Run(const CpuLaunch& args) const override {
    args.stream.ParallelFor(std::ssize(p_.batches) * row_parts_.count() * panel_parts_.count(),
                            [&](int64_t i, int lane) { RunTask(args, i, LaneAt(args, lane)); });
    return OkStatus();
  }

 private:
  /// What a lane holds: panels and what their sums begin with, then of some rows the pointers,
  /// their copies, and their sums.
  struct Lane {
    std::byte* panels;
    int32_t* init;
    const std::byte** pointers;
    std::byte* copies;
    int32_t* row_sums;
  };

  void ReadResults(const ir::Graph& group, const QuantisedGroup& q) {
    const auto scale_of = [&](ir::ValueId id) { return group.value(id).constant->GetDouble(0); };
    const double y_scale = q.requantise ? q.requantise->scale : 1;
    const float scale = MakeQuantisedColumn(q.x_scale, scale_of(q.w_scale), y_scale, 0, 1).scale;
    std::fill_n(scale_, kMaxColumns, scale);
    std::fill_n(zeros_, kMaxColumns, b_zero_);
    common_.is_signed = group.value(group.outputs[0]).dtype == DType::kI8;
    common_.scale = scale_;
    common_.add = add_;
    common_.w_zero = zeros_;
    common_.out_stride = p_.n;
    if (!q.requantise) return;
    to_bytes_ = true;
    common_.zero = q.requantise->zero;
    common_.low = q.requantise->low;
    common_.high = q.requantise->high;
    const bool bounded = std::fabs(double{scale}) * 0x1p31 < 0x1p31 - 256;
    run_ = RequantiseFor(bounded);
    tiles_finish_ = kernels_.finishes && bounded && !NeedsRowSums();
  }

  /// Each lane several tasks where there are matrices for it: each of them is packed once.
  void CutTasks() {
    const auto batches = std::max<int64_t>(1, std::ssize(p_.batches));
    const int64_t most = std::max<int64_t>(1, kMostPacked / std::max<int64_t>(1, PanelBytes()));
    const int64_t wanted = CeilDiv(int64_t{lanes()}, batches);
    panel_parts_ = EvenParts(Panels(), std::min(most, CeilDiv(Panels(), wanted)));
    const int64_t tiles = CeilDiv(p_.m, kernels_.mr);
    row_parts_ = EvenParts(tiles, CeilDiv(tiles, CeilDiv(wanted, panel_parts_.count())));
    packed_panels_ = CeilDiv(Panels(), panel_parts_.count());
  }

  bool NeedsRowSums() const { return !kernels_.wide && b_zero_ != 0; }
  int64_t Panels() const { return CeilDiv(p_.n, kernels_.nr); }
  int64_t Steps() const { return CeilDiv(p_.k, kernels_.wide ? 2 : 4); }
  int64_t PanelBytes() const { return Steps() * kernels_.nr * 4; }
  /// Nothing behind the caller's last row is read.
  bool CopiesRows() const { return kernels_.wide || signed_a_ || p_.k % 4 != 0; }
  int64_t RowBytes() const { return Steps() * 4; }  // of a copy, and of a row of ones
  Lane LaneAt(const CpuLaunch& args, int lane) const {
    return {args.At(packed_, lane), args.At(init_, lane), args.At(pointers_, lane),
            args.At(copies_, lane), args.At(row_sums_, lane)};
  }

  void RunTask(const CpuLaunch& args, int64_t task, const Lane& lane) const {
    const int64_t columns = task % panel_parts_.count();
    task /= panel_parts_.count();
    const int64_t rows = task % row_parts_.count();
    const Product::Batch& batch = p_.batches[task / row_parts_.count()];
    const int64_t first = panel_parts_.Begin(columns), end = panel_parts_.Begin(columns + 1);
    const uint8_t* b = args.inputs[b_].host<uint8_t>() + batch.b * p_.k * p_.n;
    for (int64_t panel = first; panel < end; ++panel) {
      PackPanel(b, panel, lane.panels + (panel - first) * PanelBytes());
      if (kernels_.wide) continue;
      BeginSums(lane.panels + (panel - first) * PanelBytes(), lane.copies,
                lane.init + (panel - first) * kernels_.nr);
    }
    const uint8_t* a = args.inputs[a_].host<uint8_t>() + batch.a * p_.m * p_.k;
    const int64_t matrix = (task / row_parts_.count()) * p_.m * p_.n;
    const int64_t row_end = std::min(row_parts_.Begin(rows + 1) * kernels_.mr, p_.m);
    for (int64_t row = row_parts_.Begin(rows) * kernels_.mr; row < row_end; row += kMostRows) {
      const int64_t count = std::min(kMostRows, row_end - row);
      ReadRows(a + row * p_.k, count, lane);
      for (int64_t panel = first; panel < end; ++panel) {
        RequantiseArgs out = common_;
        const int64_t column = panel * kernels_.nr;
        const int64_t at = matrix + row * p_.n + column;
        out.columns = std::min<int64_t>(kernels_.nr, p_.n - column);
        if (to_bytes_) {
          out.bytes = args.outputs[0].host<uint8_t>() + at;
        } else {
          out.floats = args.outputs[0].host<float>() + at;
        }
        RunPanel(lane, panel - first, count, out);
      }
    }
  }

  void PackPanel(const uint8_t* b, int64_t panel, std::byte* to) const {
    const int64_t column = panel * kernels_.nr, stride = p_.trans_b ? p_.k : 1;
    const ByteMatrix part{b + column * stride, p_.k, std::min<int64_t>(kernels_.nr, p_.n - column),
                          p_.trans_b ? 1 : p_.n, stride};
    if (kernels_.wide) {
      PackWideSteps(part, signed_b_, b_zero_, kernels_.nr, reinterpret_cast<int16_t*>(to));
    } else {
      PackByteSteps(part, signed_b_ ? 0 : 0x80, kernels_.nr, reinterpret_cast<uint8_t*>(to));
    }
  }

  /// sum (a - za)(b - zb) = sum ab - za sum b - zb sum a + K za zb, of which this is what has no
  /// sum of a. A row of ones gives the sums of b.
  void BeginSums(const std::byte* panel, std::byte* ones, int32_t* init) const {
    std::fill_n(init, kernels_.nr, 0);
    if (a_zero_ == 0) return;
    std::fill_n(ones, RowBytes(), std::byte{1});
    alignas(64) int32_t sums[kMaxColumns];
    const std::byte* row = ones;
    kernels_.tile[1]({.a = &row, .steps = Steps(), .b = panel, .c = sums});
    const auto all = static_cast<uint32_t>(p_.k) * static_cast<uint32_t>(b_zero_);
    for (int n = 0; n < kernels_.nr; ++n)
      init[n] = static_cast<int32_t>(static_cast<uint32_t>(a_zero_) *
                                     (all - static_cast<uint32_t>(sums[n])));
  }

  void ReadRows(const uint8_t* a, int64_t rows, const Lane& lane) const {
    for (int64_t r = 0; r < rows; ++r)
      lane.pointers[r] = reinterpret_cast<const std::byte*>(a + r * p_.k);
    if (kernels_.wide) {
      WidenRows({.pointers = reinterpret_cast<const uint8_t* const*>(lane.pointers),
                 .rows = rows,
                 .taps = 1,
                 .mr = static_cast<int>(kMostRows),
                 .is_signed = signed_a_},
                p_.k, static_cast<int16_t>(a_zero_), RowBytes() / 2,
                reinterpret_cast<int16_t*>(lane.copies));
    }
    for (int64_t r = 0; r < rows && CopiesRows() && !kernels_.wide; ++r) {
      auto* const to = reinterpret_cast<uint8_t*>(lane.copies + r * RowBytes());
      if (signed_a_) {
        FlipBytes(a + r * p_.k, p_.k, to);
      } else {
        std::copy_n(a + r * p_.k, p_.k, to);
      }
    }
    if (CopiesRows()) {
      for (int64_t r = 0; r < rows; ++r) lane.pointers[r] = lane.copies + r * RowBytes();
    }
    if (!NeedsRowSums()) return;
    for (int64_t r = 0; r < rows; ++r)
      lane.row_sums[r] = SumOfBytes(reinterpret_cast<const uint8_t*>(lane.pointers[r]), p_.k);
  }

  void RunPanel(const Lane& lane, int64_t panel, int64_t all_rows, RequantiseArgs& out) const {
    alignas(64) int32_t sums[kMaxQuantSums];
    QuantTileArgs tile{.steps = Steps(), .b = lane.panels + panel * PanelBytes(), .c = sums};
    if (!kernels_.wide)
      (kernels_.finishes ? tile.init : out.init) = lane.init + panel * kernels_.nr;
    if (tiles_finish_) tile.results = &out;
    out.sums = sums;
    out.sums_stride = kernels_.nr;
    const int64_t tiles = CeilDiv(all_rows, kernels_.mr), most = CeilDiv(all_rows, tiles);
    int64_t row = 0;
    if (tiles_finish_ && kernels_.repeats && kernels_.wide) {
      // All tiles of full height at once.
      tile.a = lane.pointers;
      tile.a_step = RowBytes();
      tile.repeat = all_rows / most;
      kernels_.tile[most](tile);
      row = tile.repeat * most;
      out.bytes += row * p_.n;
      tile.repeat = 1;
      tile.a_step = 0;
    }
    for (; row < all_rows; row += out.rows) {
      out.rows = std::min(most, all_rows - row);
      if (NeedsRowSums()) out.row_sums = lane.row_sums + row;
      tile.a = lane.pointers + row;
      kernels_.tile[out.rows](tile);
      if (!tiles_finish_) run_(out);
      if (to_bytes_) {
        out.bytes += out.rows * p_.n;
      } else {
        out.floats += out.rows * p_.n;
      }
    }
  }

  Product p_;
  const QuantKernels& kernels_;
  int a_ = 0, b_ = 0;
  bool signed_a_ = false, signed_b_ = false;
  /// Of bytes in the form that the micro-kernels multiply.
  int32_t a_zero_ = 0, b_zero_ = 0;
  bool to_bytes_ = false, tiles_finish_ = false;
  Requantise run_ = RunRequantise;
  RequantiseArgs common_;
  LaneScratch<std::byte> packed_, copies_;
  LaneScratch<int32_t> init_, row_sums_;
  LaneScratch<const std::byte*> pointers_;
  float scale_[kMaxColumns], add_[kMaxColumns] = {};
  int32_t zeros_[kMaxColumns];
  EvenParts panel_parts_{1, 1}, row_parts_{1, 1};
  int64_t packed_panels_ = 1;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  Facts facts;
  ASSIGN_OR_RETURN(facts.q, ReadComputedProduct(group));
  ASSIGN_OR_RETURN(facts.p, ReadProduct(group, *facts.q.core, false));
  const Product& p = facts.p;
  if (p.addend != ir::kAbsent) return Unsupported("an addend");
  if (p.k > kMaxDepth) return Unsupported("sums of over {} products", kMaxDepth);
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batches.empty()) return Unsupported("an empty operand");
  if (!facts.q.requantise && group.value(group.outputs[0]).dtype != DType::kF32)
    return Unsupported("results of another type");
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  return std::vector<StateAssignment>{std::move(states)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<QuantMatMul>,
                                .taste = Always<15>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuQuantisedMatMul;
const KernelDesc kCpuQuantisedMatMul = {.name = "cpu.quantised.matmul", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
