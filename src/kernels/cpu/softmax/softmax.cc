// compiled: small
// cpu.softmax.rows: Softmax and LogSoftmax over axes that are neighbours in memory, in any layout,
// in fp32, in place where the input dies.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/move/copy_leaf.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/cpu/softmax/rows.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "kernels/takes_extents.h"
#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

/// Columns of a task: a few cache lines of each row.
constexpr int64_t kColumnsPerTask = 64;

/// Rows of few columns that are not worth vectors of their own are made columns, some at a time:
/// up to LongestShortRow(), or this length where they are not neighbours.
constexpr int64_t kFewColumns = 16, kMostTurned = 64;
/// Bytes of what is turned at once: they stay in the first-level cache.
constexpr int64_t kTurnedBytes = 16 << 10;

class Softmax final : public CpuKernel, public MovesToExtents<Softmax> {
 public:
  /// `mask`: of the axes that the softmax is over.
  Softmax(const RowExtents& extents, SoftmaxForm form, ops::AxisMask mask, PadLanes pads)
      : extents_(extents), form_(form), mask_(std::move(mask)), pads_(std::move(pads)) {}

  bool MoveTo(const Problem& problem, const Device&) override {
    const Shape& x = problem.shape(problem.group->inputs[0]);
    const Result<RowExtents> extents = SplitRows(x, problem.states.inputs[0].layout, mask_);
    if (!pads_.empty() || HasPads(problem) || !extents.ok()) return false;
    extents_ = *extents;
    return true;
  }

  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Run(const CpuLaunch& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    const float* x = args.inputs[0].host<float>();
    float* y = args.outputs[0].host<float>();
    const int64_t length = extents_.row * extents_.inner;
    const bool has_rows = extents_.inner == 1, log = form_ == SoftmaxForm::kLogarithm;
    if (extents_.row == 1) {
      RunOnes(args.stream, x, y);
    } else if (has_rows && !log && extents_.row >= 2 && extents_.row <= kMostShortRow) {
      RunShortRows(args.stream, x, y);
    } else if (extents_.inner <= kFewColumns &&
               length <= (has_rows ? LongestShortRow() : kMostTurned)) {
      RunTurned(args.stream, x, y);
    } else {
      RunRows(args.stream, x, y);
    }
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  void RunRows(CpuStream& stream, const float* x, float* y) const {
    const int64_t columns = (extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask;
    const int64_t units = extents_.outer * columns;
    const int64_t unit = extents_.row * std::min(extents_.inner, kColumnsPerTask);
    const RowTasks tasks = TasksOfRows(units, unit);
    stream.ParallelFor(tasks.count, [&](int64_t task, int) {
      const int64_t end = std::min(units, (task + 1) * tasks.rows);
      if (extents_.inner == 1) {
        const int64_t first = task * tasks.rows, at = first * extents_.row;
        return SoftmaxRows(x + at, y + at, end - first, extents_.row, form_);
      }
      for (int64_t u = task * tasks.rows; u < end; ++u) {
        const int64_t column = u % columns * kColumnsPerTask;
        const int64_t at = u / columns * extents_.row * extents_.inner + column;
        SoftmaxColumns(x + at, y + at, extents_.row, extents_.inner,
                       std::min(kColumnsPerTask, extents_.inner - column), form_);
      }
    });
  }

  void RunOnes(CpuStream& stream, const float* x, float* y) const {
    constexpr int64_t kPerTask = 16384;
    const int64_t rows = extents_.elements();
    stream.ParallelFor((rows + kPerTask - 1) / kPerTask, [&](int64_t task, int) {
      const int64_t at = task * kPerTask, count = std::min(kPerTask, rows - at);
      SoftmaxColumns(x + at, y + at, 1, count, count, form_);
    });
  }

  void RunShortRows(CpuStream& stream, const float* x, float* y) const {
    const RowTasks tasks = TasksOfRows(extents_.outer, extents_.row);
    stream.ParallelFor(tasks.count, [&](int64_t task, int) {
      const int64_t first = task * tasks.rows, at = first * extents_.row;
      const int64_t count = std::min(tasks.rows, extents_.outer - first);
      SoftmaxShortRows(x + at, y + at, count, extents_.row, form_);
    });
  }

  void RunTurned(CpuStream& stream, const float* x, float* y) const {
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    const int64_t length = extents_.row * extents_.inner;
    const int64_t block = kTurnedBytes / (length * kFloat);
    stream.ParallelFor((extents_.outer + block - 1) / block, [&](int64_t task, int) {
      const int64_t count = std::min(block, extents_.outer - task * block);
      const int64_t at = task * block * length, stride = extents_.inner * count;
      alignas(64) float turned[kTurnedBytes / sizeof(float)];
      auto* bytes = reinterpret_cast<std::byte*>(turned);
      CopyTransposed(reinterpret_cast<const std::byte*>(x + at), bytes, {length, 1, count},
                     {count, length, 1}, length, count, kFloat);
      SoftmaxColumns(turned, turned, extents_.row, stride, stride, form_);
      CopyTransposed(bytes, reinterpret_cast<std::byte*>(y + at), {count, 1, length},
                     {length, count, 1}, count, length, kFloat);
    });
  }

  RowExtents extents_;
  SoftmaxForm form_;
  ops::AxisMask mask_;
  PadLanes pads_;
};

struct Facts {
  Shape x;
  ops::AxisMask mask;
  SoftmaxForm form;

  Result<RowExtents> In(const Layout& layout) const { return SplitRows(x, layout, mask); }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.inputs.size() != 1 || group.outputs.size() != 1)
    return Unsupported("computes Softmax only, alone");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "Softmax"_op && node.op != "LogSoftmax"_op)
    return Unsupported("computes Softmax only");
  const ir::Value& x = group.value(group.inputs[0]);
  RETURN_IF_ERROR(CheckFloat(x.dtype));
  ASSIGN_OR_RETURN(ops::AxisMask mask, ops::SoftmaxAxes(node, x.shape->rank()));
  const SoftmaxForm form = node.op == "LogSoftmax"_op ? SoftmaxForm::kLogarithm
                           : ops::NanToZero(node)     ? SoftmaxForm::kNanToZero
                                                      : SoftmaxForm::kPlain;
  Facts facts{*x.shape, std::move(mask), form};
  RETURN_IF_ERROR(facts.In(Layout::RowMajor()).status());
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph&, const Facts& facts, const Device&) {
  std::vector<Layout> layouts = BlockedLayouts(facts.x);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(facts.x.rank())});
  std::vector<StateAssignment> states;
  for (const Layout& layout : layouts) {
    if (!facts.In(layout).ok()) continue;
    const State state{.layout = layout};
    if (states.empty() || states[0].inputs[0] != state) states.push_back({{state}, {state}});
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const Layout& layout = problem.states.inputs[0].layout;
  ASSIGN_OR_RETURN(const RowExtents extents, facts.In(layout));
  return std::unique_ptr<PreparedKernel>(
      new Softmax(extents, facts.form, facts.mask, PadLanes(facts.x, layout, 4)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true,
                                .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuSoftmaxRows;
const KernelDesc kCpuSoftmaxRows = {.name = "cpu.softmax.rows", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
