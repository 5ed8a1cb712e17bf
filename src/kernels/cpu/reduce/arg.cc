// cpu.reduce.arg: ArgMax and ArgMin of fp32 along any axis, row-major and, over the channels,
// channels-last.
#include "kernels/cpu/reduce/arg.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kElementsPerTask = 32768;
constexpr int64_t kColumnsPerTask = 256;

class Arg final : public PreparedKernel {
 public:
  Arg(const RowExtents& extents, const ArgRule& rule) : extents_(extents), rule_(rule) {}

  Status Launch(const LaunchArgs& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    const float* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<int64_t>();
    const int64_t columns = (extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask;
    const int64_t units = extents_.outer * columns;
    const int64_t unit = extents_.row * std::min(extents_.inner, kColumnsPerTask);
    const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / unit);
    const int64_t tasks = (units + per_task - 1) / per_task;
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(units, (task + 1) * per_task);
      for (int64_t u = task * per_task; u < end; ++u) {
        const int64_t o = u / columns, column = u % columns * kColumnsPerTask;
        ArgColumns(rule_, x + o * extents_.row * extents_.inner + column, extents_.row,
                   extents_.inner, std::min(kColumnsPerTask, extents_.inner - column),
                   y + o * extents_.inner + column);
      }
    });
    return OkStatus();
  }

 private:
  RowExtents extents_;
  ArgRule rule_;
};

struct Facts {
  Shape x;
  int axis;
  ArgRule rule;

  Result<RowExtents> In(const Layout& layout) const {
    // The results lie in the order of the axes that are kept, which must be that of the output.
    int before = -1;
    for (int i = 0; i < x.rank(); ++i) {
      const int kept = layout.AxisAt(i, x.rank());
      if (kept == axis || x[kept] == 1) continue;
      if (kept < before) return Unsupported("the results would not be row-major");
      before = kept;
    }
    std::vector<bool> mask(x.rank(), false);
    mask[axis] = true;
    return SplitRows(x, layout, mask);
  }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.inputs.size() != 1 || group.outputs.size() != 1)
    return Unsupported("not a single node with one operand");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "ArgMax"_op && node.op != "ArgMin"_op)
    return Unsupported("computes ArgMax and ArgMin only");
  const ir::Value& x = group.value(group.inputs[0]);
  if (x.dtype != DType::kF32 && x.dtype != DType::kF16 && x.dtype != DType::kBF16)
    return Unsupported("{} is not compared in fp32", DTypeName(x.dtype));
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank());
  if (!axis || (*x.shape)[*axis] >= 1 << 24) return Unsupported("rows beyond 2^24 elements");
  const ArgRule rule{.max = node.op == "ArgMax"_op,
                     .last = node.attributes.Int("select_last_index", 0) != 0};
  return Facts{*x.shape, *axis, rule};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  RETURN_IF_ERROR(facts.In(Layout::RowMajor()).status());
  std::vector<StateAssignment> states{WidenedStates(group)};
  const Layout layout = Layout::ChannelsLast(facts.x.rank());
  if (!layout.IsRowMajor() && facts.In(layout).ok()) {
    states.push_back(states[0]);
    states[1].inputs[0].layout = layout;
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(const RowExtents extents, facts.In(problem.states.inputs[0].layout));
  return std::unique_ptr<PreparedKernel>(new Arg(extents, facts.rule));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuReduceArg;
const KernelDesc kCpuReduceArg = {.name = "cpu.reduce.arg", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
