// cpu.resize.separable: Resize over one or two axes that are neighbours in memory, in any layout
// that does not block them: input rows are blended into one row, then spread along the width. fp32,
// or u8 and i8 between DequantizeLinear and QuantizeLinear.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/cpu/resize/row.h"
#include "kernels/family.h"
#include "kernels/match/resize_taps.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Axis {
  int64_t in = 1, out = 1;
  ops::AxisTaps taps;
};

/// A group as it is in every layout; taps by axis.
struct Facts {
  Shape x, y;
  std::vector<ops::AxisTaps> taps;
  AffineGroup affine;
};

/// [outer, height, width, inner] to [outer, height', width', inner].
struct ResizePlan {
  int64_t outer = 1, inner = 1;
  Axis height, width;
  AffineGroup affine;  // without its node, which may go before the kernel
  PadLanes pads;       // of the output
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

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const AffineGroup affine, ReadAffineGroup(group, [](const ir::Node& node) {
                     return node.attributes.Text("mode", "nearest") == "nearest";
                   }));
  ASSIGN_OR_RETURN(ResizeTaps resize, ReadResizeTaps(group, *affine.node));
  Facts facts{*group.value(affine.input).shape, resize.output, std::move(resize.taps), affine};
  facts.affine.node = nullptr;
  return facts;
}

Result<ResizePlan> MakePlan(const Facts& facts, const Layout& layout) {
  ResizePlan plan{.affine = facts.affine};
  const Shape& x = facts.x;
  std::vector<Axis> resized;
  const PhysicalDims dims = ToPhysical(x, layout);
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    const int axis = dims.axis[i];
    const ops::AxisTaps& taps = facts.taps[axis];
    if (!taps.IsIdentity(x[axis])) {
      if (layout.BlockOf(axis) != 1) return Unsupported("the resized axes are blocked");
      if (plan.inner != 1 && !resized.empty())
        return Unsupported("the resized axes are not neighbours in memory");
      resized.push_back({x[axis], facts.y[axis], taps});
    } else {
      (resized.empty() ? plan.outer : plan.inner) *= dims.extent[i];
    }
  }
  if (resized.size() > 2) return Unsupported("more than two resized axes");
  const ops::AxisTaps identity{.index = {0}, .weight = {1}, .outside = {false}};
  plan.height = resized.size() == 2 ? std::move(resized[0]) : Axis{1, 1, identity};
  plan.width = resized.empty() ? Axis{1, 1, identity} : std::move(resized.back());
  if (plan.width.in * plan.inner > INT32_MAX) return Unsupported("rows beyond 2^31 elements");
  plan.pads = PadLanes(facts.y, layout, ByteSize(plan.affine.to.storage));
  return plan;
}

Result<std::vector<StateAssignment>> States(const ir::Graph&, const Facts& facts, const Device&) {
  std::vector<Layout> layouts = BlockedLayouts(facts.y);
  layouts.insert(layouts.begin(), {Layout::ChannelsLast(facts.y.rank()), Layout::RowMajor()});
  std::vector<StateAssignment> states;
  Status refused;
  for (const Layout& layout : layouts) {
    const Status planned = MakePlan(facts, layout).status();
    if (!planned.ok()) {
      refused = planned;
      continue;
    }
    StateAssignment next{{{.layout = layout, .storage = facts.affine.from.storage}},
                         {{.layout = layout, .storage = facts.affine.to.storage}}};
    if (states.empty() || !(states[0] == next)) states.push_back(std::move(next));
  }
  if (states.empty()) return refused;
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(ResizePlan plan, MakePlan(facts, problem.states.inputs[0].layout));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(new Resize(std::move(plan), lanes));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuResizeSeparable;
const KernelDesc kCpuResizeSeparable = {.name = "cpu.resize.separable", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
