// cpu.softmax.rows: Softmax and LogSoftmax over axes that are neighbours in memory, in any layout,
// in fp32, in place where the input dies.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/row_tasks.h"
#include "kernels/cpu/softmax/rows.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

/// Columns of a task: a few cache lines of each row.
constexpr int64_t kColumnsPerTask = 64;

/// Rows up to this length are not worth a vector of their own.
constexpr int64_t kShortRow = 16;

class Softmax final : public PreparedKernel {
 public:
  Softmax(const RowExtents& extents, SoftmaxForm form, PadLanes pads)
      : extents_(extents), form_(form), pads_(std::move(pads)) {}

  std::vector<Alias> aliases() const override { return {{.output = 0, .input = 0}}; }

  Status Launch(const LaunchArgs& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    const float* x = args.inputs[0].host<float>();
    float* y = args.outputs[0].host<float>();
    const int64_t columns = (extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask;
    const int64_t units = extents_.outer * columns;
    const int64_t unit = extents_.row * std::min(extents_.inner, kColumnsPerTask);
    const RowTasks tasks = TasksOfRows(units, unit);
    const int64_t per_task = tasks.rows;
    auto& stream = static_cast<CpuStream&>(args.stream);
    stream.ParallelFor(tasks.count, [&](int64_t task, int) {
      const int64_t end = std::min(units, (task + 1) * per_task);
      if (extents_.inner == 1 && extents_.row <= kShortRow && form_ != SoftmaxForm::kLogarithm) {
        const int64_t at = task * per_task * extents_.row;
        ShortRows(x + at, y + at, end - task * per_task);
        return;
      }
      for (int64_t u = task * per_task; u < end; ++u) {
        const int64_t column = u % columns * kColumnsPerTask;
        const int64_t at = u / columns * extents_.row * extents_.inner + column;
        if (extents_.inner == 1) {
          SoftmaxRow(x + at, y + at, extents_.row, form_);
        } else {
          SoftmaxColumns(x + at, y + at, extents_.row, extents_.inner,
                         std::min(kColumnsPerTask, extents_.inner - column), form_);
        }
      }
    });
    pads_.Zero(stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  /// A few rows at a time, so that they stay in the first-level cache between the steps.
  void ShortRows(const float* x, float* y, int64_t rows) const {
    const int64_t block = 1024 / extents_.row;
    for (int64_t r = 0; r < rows; r += block) {
      const int64_t at = r * extents_.row;
      SoftmaxShortRows(x + at, y + at, std::min(block, rows - r), extents_.row, form_);
    }
  }

  RowExtents extents_;
  SoftmaxForm form_;
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
      new Softmax(extents, facts.form, PadLanes(facts.x, layout, 4)));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuSoftmaxRows;
const KernelDesc kCpuSoftmaxRows = {.name = "cpu.softmax.rows", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
