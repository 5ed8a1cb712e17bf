// cpu.resize.separable: Resize over one or two axes that are neighbours in memory, in any layout
// that does not block them: input rows are blended into one row, then spread along the width. fp32,
// or u8 and i8 between DequantizeLinear and QuantizeLinear.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/cpu/resize/row.h"
#include "kernels/kernel.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

struct Axis {
  int64_t in = 1, out = 1;
  ops::AxisTaps taps;
};

/// [outer, height, width, inner] to [outer, height', width', inner].
struct ResizePlan {
  int64_t outer = 1, inner = 1;
  Axis height, width;
  AffineGroup affine;
  PadLanes pads;  // of the output
};

/// Every output is one input element: nothing is blended.
bool Picks(const ops::AxisTaps& taps) {
  return taps.taps == 1 &&
         std::all_of(taps.weight.begin(), taps.weight.end(), [](double w) { return w == 1; });
}

class Resize final : public PreparedKernel {
 public:
  Resize(ResizePlan plan, int lanes)
      : plan_(std::move(plan)),
        lanes_(lanes),
        picks_rows_(Picks(plan_.height.taps)),
        table_(MakeSpreadTable(plan_.width.out, plan_.width.taps.taps, plan_.inner,
                               plan_.width.taps.index, plan_.width.taps.weight)) {
    plan_.affine.node = nullptr;  // belongs to the group, which may go before the kernel
    rows_per_task_ = std::max<int64_t>(1, 8192 / std::max<int64_t>(OutRow(), 1));
  }

  int64_t workspace_bytes() const override { return lanes_ * LaneElements() * 4; }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t rows = plan_.outer * plan_.height.out;
    if (OutRow() == 0) return OkStatus();
    const int64_t tasks = (rows + rows_per_task_ - 1) / rows_per_task_;
    auto& stream = static_cast<CpuStream&>(args.stream);
    stream.ParallelFor(tasks, [&](int64_t task, int lane) {
      float* scratch = args.workspace.host<float>() + lane * LaneElements();
      const int64_t end = std::min(rows, (task + 1) * rows_per_task_);
      for (int64_t row = task * rows_per_task_; row < end; ++row) Row(args, row, scratch);
    });
    plan_.pads.Zero(stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  int64_t InRow() const { return plan_.width.in * plan_.inner; }
  int64_t OutRow() const { return plan_.width.out * plan_.inner; }
  /// A spread reads a vector behind the row.
  int64_t LaneElements() const { return (InRow() + OutRow() + 31) / 16 * 16; }

  void Row(const LaunchArgs& args, int64_t row, float* scratch) const {
    const AffineGroup& affine = plan_.affine;
    const int64_t image = row / plan_.height.out, y = row % plan_.height.out;
    const ops::AxisTaps& taps = plan_.height.taps;
    const std::byte* x = args.inputs[0].host<std::byte>() +
                         StorageBytes(affine.from.storage, image * plan_.height.in * InRow());
    const float* blended = scratch;
    for (int t = 0; t < taps.taps; ++t) {
      const size_t at = y * taps.taps + t;
      const std::byte* from = x + StorageBytes(affine.from.storage, taps.index[at] * InRow());
      if (picks_rows_ && !affine.from.is_integer()) {
        blended = reinterpret_cast<const float*>(from);
      } else {
        BlendRow(affine.from.storage, from, static_cast<float>(taps.weight[at]), t > 0, InRow(),
                 scratch);
      }
    }
    std::byte* out =
        args.outputs[0].host<std::byte>() + StorageBytes(affine.to.storage, row * OutRow());
    float* spread = affine.to.is_integer() ? scratch + InRow() : reinterpret_cast<float*>(out);
    SpreadRow(table_, blended, spread);
    if (affine.to.is_integer()) {
      StoreRounded(affine.to.storage, spread, affine.mul(), affine.add(), affine.least(),
                   affine.greatest(), OutRow(), out);
    }
  }

  ResizePlan plan_;
  int lanes_;
  bool picks_rows_;
  SpreadTable table_;
  int64_t rows_per_task_ = 1;
};

/// The value operands, which must be constants.
Result<ops::ResizeOperands> ReadOperands(const ir::Graph& group, const ir::Node& node) {
  ops::ResizeOperands operands;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    const auto& constant = group.value(node.inputs[i]).constant;
    if (constant == nullptr) return Unsupported("scales or sizes that are not constant");
    for (int64_t k = 0; k < constant->elements(); ++k) {
      if (i == 1) operands.roi.push_back(constant->GetDouble(k));
      if (i == 2) operands.scales.push_back(constant->GetDouble(k));
      if (i == 3) operands.sizes.push_back(constant->GetInt(k));
    }
  }
  return operands;
}

Result<ResizePlan> MakePlan(const ir::Graph& group, const Layout& layout) {
  ResizePlan plan;
  ASSIGN_OR_RETURN(plan.affine, ReadAffineGroup(group));
  const ir::Node& node = *plan.affine.node;
  if (node.op != "Resize"_op) return Unsupported("not a Resize");
  const Shape& x = *group.value(plan.affine.input).shape;
  ASSIGN_OR_RETURN(const ops::ResizeOperands operands, ReadOperands(group, node));
  ASSIGN_OR_RETURN(const ops::ResizeAttributes resize, ops::ReadResize(node, x, operands));
  if (resize.output.elements() == 0 || x.elements() == 0) return Unsupported("nothing to resize");
  std::vector<Axis> resized;
  const PhysicalDims dims = ToPhysical(x, layout);
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    const int axis = dims.axis[i];
    Axis next{x[axis], resize.output[axis], ops::MakeAxisTaps(resize, x[axis], axis)};
    const auto& outside = next.taps.outside;
    if (std::find(outside.begin(), outside.end(), true) != outside.end())
      return Unsupported("extrapolated elements");
    if (!next.taps.IsIdentity(x[axis])) {
      if (layout.BlockOf(axis) != 1) return Unsupported("the resized axes are blocked");
      if (plan.inner != 1 && !resized.empty())
        return Unsupported("the resized axes are not neighbours in memory");
      resized.push_back(std::move(next));
    } else {
      (resized.empty() ? plan.outer : plan.inner) *= dims.extent[i];
    }
  }
  if (resized.size() > 2) return Unsupported("more than two resized axes");
  const ops::AxisTaps identity{.index = {0}, .weight = {1}, .outside = {false}};
  plan.height = resized.size() == 2 ? std::move(resized[0]) : Axis{1, 1, identity};
  plan.width = resized.empty() ? Axis{1, 1, identity} : std::move(resized.back());
  if (plan.width.in * plan.inner > INT32_MAX) return Unsupported("rows beyond 2^31 elements");
  plan.pads = PadLanes(resize.output, layout, StorageBytes(plan.affine.to.storage, 1));
  return plan;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  if (group.outputs.empty()) return Unsupported("no output");
  const Shape& y = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(y);
  layouts.insert(layouts.begin(), {Layout::ChannelsLast(y.rank()), Layout::RowMajor()});
  std::vector<StateAssignment> states;
  Status refused;
  for (const Layout& layout : layouts) {
    const Result<ResizePlan> plan = MakePlan(group, layout);
    if (!plan.ok()) {
      refused = plan.status();
      continue;
    }
    StateAssignment next{{{.layout = layout, .storage = plan->affine.from.storage}},
                         {{.layout = layout, .storage = plan->affine.to.storage}}};
    if (states.empty() || !(states[0] == next)) states.push_back(std::move(next));
  }
  if (states.empty()) return refused;
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(ResizePlan plan, MakePlan(*problem.group, problem.states.inputs[0].layout));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new Resize(std::move(plan), lanes));
}

}  // namespace

extern const KernelDesc kCpuResizeSeparable;
const KernelDesc kCpuResizeSeparable = {
    .name = "cpu.resize.separable", .preference = 10, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
