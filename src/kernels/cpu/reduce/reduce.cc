// compiled: small
// cpu.reduce.rows: reductions over axes that are neighbours in memory, and global pooling, in any
// layout, in fp32 or on u8 and i8 between DequantizeLinear and QuantizeLinear.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/cpu/reduce/fold.h"
#include "kernels/cpu/reduce/mask.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "kernels/takes_extents.h"
#include "kernels/wanted_states.h"

namespace fettle::kernels {
namespace {

struct Row {
  std::string_view op;
  FoldKind fold;
  FoldEnd end = FoldEnd::kNone;
  /// Commutes with an affine change of the element, so that stored integers can be folded.
  bool affine = false;
};
constexpr Row kRows[] = {
    {"GlobalAveragePool", FoldKind::kSum, FoldEnd::kMean, true},
    {"GlobalMaxPool", FoldKind::kMax, FoldEnd::kNone, true},
    {"ReduceL1", FoldKind::kSumAbs},
    {"ReduceL2", FoldKind::kSumSquare, FoldEnd::kSqrt},
    {"ReduceLogSum", FoldKind::kSum, FoldEnd::kLog},
    {"ReduceMax", FoldKind::kMax, FoldEnd::kNone, true},
    {"ReduceMean", FoldKind::kSum, FoldEnd::kMean, true},
    {"ReduceMin", FoldKind::kMin, FoldEnd::kNone, true},
    {"ReduceProd", FoldKind::kProd},
    {"ReduceSum", FoldKind::kSum},
    {"ReduceSumSquare", FoldKind::kSumSquare},
};

const Row* FindRow(std::string_view op) {
  const auto* at = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& row) { return row.op == op; });
  return at == std::end(kRows) ? nullptr : at;
}

/// Input elements of one task.
constexpr int64_t kElementsPerTask = 32768;
/// Columns of one task: their running sums stay in the first-level cache.
constexpr int64_t kColumnsPerTask = 1024;

/// The kept axes of the input in memory order, as axes of the output.
std::vector<PhysicalPart> KeptParts(const Shape& x, const Layout& layout, const ops::AxisMask& mask,
                                    bool keepdims) {
  std::vector<PhysicalPart> kept;
  for (PhysicalPart part : PhysicalParts(x, layout)) {
    if (mask[part.axis]) continue;
    if (!keepdims)
      part.axis -= static_cast<int>(std::count(mask.begin(), mask.begin() + part.axis, true));
    kept.push_back(part);
  }
  return JoinParts(kept);
}

/// Whether the results lie in `y` as they are computed.
bool LiesAsComputed(const Shape& y, const Layout& layout, const std::vector<PhysicalPart>& kept) {
  return JoinParts(PhysicalParts(y, layout)) == kept;
}

class Reduce final : public CpuKernel, public MovesToExtents<Reduce> {
 public:
  /// `mask`: of the axes that are reduced.
  Reduce(const Row& row, const AffineGroup& affine, ops::AxisMask mask, const RowExtents& extents,
         PadLanes pads)
      : op_(&row), affine_(affine), mask_(std::move(mask)), pads_(std::move(pads)) {
    SetExtents(extents);
  }

  bool takes_ones() const override { return true; }
  bool MoveTo(const Problem& problem, const Device&) override {
    const Shape& x = problem.shape(affine_.input);
    const Shape& y = problem.shape(affine_.output);
    const Layout& layout = problem.states.inputs[0].layout;
    const Result<RowExtents> extents = SplitRows(x, layout, mask_);
    if (!pads_.empty() || HasPads(problem) || x.elements() == 0 || !extents.ok()) return false;
    const auto kept = KeptParts(x, layout, mask_, x.rank() == y.rank());
    if (!LiesAsComputed(y, problem.states.outputs[0].layout, kept)) return false;
    ForgetScratch(lanes());
    SetExtents(*extents);
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const int64_t results = extents_.outer * extents_.inner;
    if (results == 0) return OkStatus();
    const bool integers = affine_.to.is_integer();
    float* folded = integers ? args.At(folded_) : args.outputs[0].host<float>();
    float* parts = parts_ == 1 ? folded : args.At(folds_);
    FoldAll(args.stream, args.inputs[0].host<std::byte>(), parts);
    if (parts_ > 1) {
      FoldParts(op_->fold, parts, parts_, results, folded);
      EndFolds(op_->end, extents_.row, folded, results);
    }
    if (integers) Requantise(folded, results, args.outputs[0].host<std::byte>());
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  void SetExtents(const RowExtents& extents) {
    extents_ = extents;
    // Each element on its own: in vectors of them.
    if (extents.row == 1) extents_ = {1, 1, extents.outer * extents.inner};
    // Long rows with few results are cut in parts, always the same ones.
    const int64_t results = extents_.outer * extents_.inner;
    const int64_t tasks =
        extents_.outer * ((extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask);
    parts_ = 1;
    if (results > 0 && tasks < 8 && extents.elements() > 2 * kElementsPerTask) {
      parts_ = std::min<int64_t>(extents.elements() / kElementsPerTask, 64);
      parts_ = std::max<int64_t>(1, std::min(parts_, extents.row / 16));
    }
    row_part_ = (extents.row + parts_ - 1) / parts_;
    if (parts_ > 1) folds_ = PerRun<float>(parts_ * results);
    if (affine_.to.is_integer()) folded_ = PerRun<float>(results);
  }

  /// Folds each part of the rows: parts[p][o][i].
  void FoldAll(CpuStream& stream, const std::byte* x, float* parts) const {
    const int64_t columns = (extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask;
    const int64_t units = parts_ * extents_.outer * columns;
    const int64_t unit_elements =
        std::max<int64_t>(row_part_ * std::min(extents_.inner, kColumnsPerTask), 1);
    const int64_t units_per_task = std::max<int64_t>(1, kElementsPerTask / unit_elements);
    const int64_t element = StorageBytes(affine_.from.storage, 1);
    stream.ParallelFor((units + units_per_task - 1) / units_per_task, [&](int64_t task, int) {
      const int64_t end = std::min(units, (task + 1) * units_per_task);
      if (columns == 1 && parts_ == 1) {  // whole blocks, one behind the other
        const int64_t first = task * units_per_task;
        float* to = parts + first * extents_.inner;
        Fold({.kind = op_->fold,
              .storage = affine_.from.storage,
              .from = x + first * extents_.row * extents_.inner * element,
              .row = extents_.row,
              .inner = extents_.inner,
              .inner_stride = extents_.inner,
              .rows = end - first},
             to);
        return EndFolds(op_->end, extents_.row, to, (end - first) * extents_.inner);
      }
      for (int64_t unit = task * units_per_task; unit < end; ++unit) {
        const int64_t column = unit % columns * kColumnsPerTask;
        const int64_t o = unit / columns % extents_.outer, part = unit / columns / extents_.outer;
        const int64_t begin = std::min(part * row_part_, extents_.row);
        const int64_t inner = std::min(kColumnsPerTask, extents_.inner - column);
        float* to = parts + (part * extents_.outer + o) * extents_.inner + column;
        Fold({.kind = op_->fold,
              .storage = affine_.from.storage,
              .from = x + ((o * extents_.row + begin) * extents_.inner + column) * element,
              .row = std::min(row_part_, extents_.row - begin),
              .inner = inner,
              .inner_stride = extents_.inner},
             to);
        if (parts_ == 1) EndFolds(op_->end, extents_.row, to, inner);
      }
    });
  }

  void Requantise(const float* values, int64_t n, std::byte* out) const {
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = std::nearbyint(values[i] * affine_.mul() + affine_.add());
      const float clamped = std::clamp(scaled, affine_.least(), affine_.greatest());
      out[i] = static_cast<std::byte>(static_cast<int>(clamped));
    }
  }

  const Row* op_;
  AffineGroup affine_;
  ops::AxisMask mask_;
  RowExtents extents_;
  PadLanes pads_;
  int64_t parts_ = 1, row_part_ = 0;
  RunScratch<float> folds_, folded_;  // of each part, and of all
};

struct Reading {
  const Row* row;
  AffineGroup affine;  // without its node, which may go before the kernel
  ops::AxisMask mask;
};

Result<ops::AxisMask> ReadMask(const ir::Graph& group, const ir::Node& node, int rank) {
  if (node.op.name().starts_with("Global")) {
    ops::AxisMask mask(rank, true);
    mask[0] = mask[1] = false;
    return mask;
  }
  return ConstantReduceMask(group, node, rank);
}

Result<Reading> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const AffineGroup affine, ReadAffineGroup(group, [](const ir::Node& node) {
                     return node.op == "ReduceMax"_op || node.op == "ReduceMin"_op;
                   }));
  const Row* row = FindRow(affine.node->op);
  if (row == nullptr) return Unsupported("computes reductions only");
  if (affine.from.is_integer() && !row->affine)
    return Unsupported("{} of integers needs their zero point", row->op);
  const int rank = group.value(affine.input).shape->rank();
  ASSIGN_OR_RETURN(ops::AxisMask mask, ReadMask(group, *affine.node, rank));
  // Whose means and maxima are the reference's own, where ReduceMax and others have theirs by rule.
  const bool makes_integers = affine.from.is_integer() || affine.to.is_integer();
  if ((makes_integers || row->op.starts_with("Global")) &&
      group.value(affine.input).shape->elements() == 0)
    return Unsupported("planes of no elements");
  Reading reading{row, affine, std::move(mask)};
  reading.affine.node = nullptr;
  return reading;
}

/// An output layout in which the results lie as they are computed, or nothing.
std::optional<Layout> OutputLayout(const Shape& x, const Shape& y, const Layout& layout,
                                   const ops::AxisMask& mask) {
  const std::vector<PhysicalPart> kept = KeptParts(x, layout, mask, x.rank() == y.rank());
  const Layout plain = layout.IsRowMajor() ? Layout() : Layout::ChannelsLast(y.rank());
  const bool same_blocks = !layout.blocks.empty() && x.rank() == y.rank();
  for (const Layout& candidate :
       {same_blocks ? layout : plain, Layout::RowMajor(), Layout::ChannelsLast(y.rank())}) {
    if (LiesAsComputed(y, candidate, kept)) return candidate;
  }
  return std::nullopt;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Reading& reading,
                                            const Device&) {
  const Shape &x = *group.value(reading.affine.input).shape,
              &y = *group.value(reading.affine.output).shape;
  std::vector<Layout> layouts = BlockedLayouts(x);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(x.rank())});
  std::vector<StateAssignment> states;
  for (const Layout& layout : layouts) {
    if (WantedStates::LeaveOutInput(layout)) continue;
    const auto out = OutputLayout(x, y, layout, reading.mask);
    if (!out || !SplitRows(x, layout, reading.mask).ok()) continue;
    StateAssignment next{{{.layout = layout, .storage = reading.affine.from.storage}},
                         {{.layout = *out, .storage = reading.affine.to.storage}}};
    if (states.empty() || !(states[0] == next)) states.push_back(std::move(next));
  }
  if (states.empty()) return Unsupported("the reduced axes are not neighbours in memory");
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Reading& reading,
                                                const Params&, const Device&) {
  const Shape& x = *problem.group->value(reading.affine.input).shape;
  ASSIGN_OR_RETURN(const RowExtents extents,
                   SplitRows(x, problem.states.inputs[0].layout, reading.mask));
  const State& state = problem.states.outputs[0];
  PadLanes pads(problem.shape(problem.group->outputs[0]), state.layout,
                StorageBytes(state.storage, 1));
  return std::unique_ptr<PreparedKernel>(
      new Reduce(*reading.row, reading.affine, reading.mask, extents, std::move(pads)));
}

constexpr Family<Reading> kFamily{.read = Read,
                                  .states = States,
                                  .prepare = Prepare,
                                  .taste = Always<10>,
                                  .reads_callers_memory = true,
                                  .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuReduceRows;
const KernelDesc kCpuReduceRows = {
    .name = "cpu.reduce.rows", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
