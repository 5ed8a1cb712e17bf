// compiled: small
// cpu.pool.window: MaxPool and AveragePool in any layout whose spatial axes lie together, in fp32,
// and over u8 and i8 between DequantizeLinear and QuantizeLinear (or, for a maximum, alone).
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/pool/byte_max.h"
#include "kernels/cpu/pool/row.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/family.h"
#include "kernels/join_windows.h"
#include "kernels/match/extents.h"
#include "kernels/takes_extents.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

/// Pixels of fewer elements are walked along the width.
constexpr int64_t kWidePixel = 8;

class Pool final : public CpuKernel, public WritesWindow, public TakesExtents {
 public:
  Pool(const PoolPlan& plan, PadLanes pads, ops::SamePads same, int lanes)
      : CpuKernel(lanes),
        plan_(plan),
        same_(same),
        pads_(std::move(pads)),
        narrow_(plan.channels < kWidePixel),
        selects_bytes_(!narrow_ && plan.selects_bytes()) {
    // Enough input bytes per task to hide its claim.
    const int64_t taps = plan.kernel[0] * plan.kernel[1] * plan.kernel[2];
    const int64_t work = std::max<int64_t>(plan.out[2] * plan.channels * taps, 1);
    rows_per_task_ = std::max<int64_t>(1, 16384 / work);
    if (narrow_) scratch_ = PerLane<std::byte>(PoolScratch(plan_, rows_per_task_) * 4);
    if (selects_bytes_) scratch_ = PerLane<std::byte>(MaxBytesScratch(plan_));
  }

  std::unique_ptr<PreparedKernel> At(const Problem& problem, const Device&) const override {
    const Shape &x = problem.shape(problem.group->inputs[0]),
                &y = problem.shape(problem.group->outputs[0]);
    const Result<ImageExtents> images = SplitImages(x, problem.states.outputs[0].layout);
    if (!pads_.empty() || HasPads(problem)) return nullptr;
    if (x.elements() == 0 || !images.ok()) return nullptr;
    PoolPlan plan = plan_;
    plan.batch = images->outer;
    plan.channels = plan.pitch = images->inner;
    const size_t lead = 5 - x.rank();
    for (int i = 2; i < x.rank(); ++i) {
      plan.in[lead + i - 2] = x[i];
      plan.out[lead + i - 2] = y[i];
      if (same_ != ops::SamePads::kNone) SetPads(plan, lead + i - 2);
    }
    return std::make_unique<Pool>(plan, pads_, same_, problem.threads);
  }

  Status WriteApart(const WindowRows& rows) override {
    if (narrow_ || selects_bytes_ || rows.row != plan_.channels)
      return Unsupported("rows are not the channels of a pixel");
    plan_.pitch = rows.pitch;
    return OkStatus();
  }

  Status Run(const CpuLaunch& args) const override {
    const auto* x = args.inputs[0].host<std::byte>();
    auto* y = args.outputs[0].host<std::byte>();
    const int64_t rows = plan_.batch * plan_.out[0] * plan_.out[1];
    if (plan_.channels == 0) return OkStatus();
    const int64_t tasks = (rows + rows_per_task_ - 1) / rows_per_task_;
    args.stream.ParallelFor(tasks, [&](int64_t task, int lane) {
      std::byte* scratch = args.At(scratch_, lane);
      const int64_t first = task * rows_per_task_, end = std::min(rows, first + rows_per_task_);
      if (narrow_) {
        auto* floats = reinterpret_cast<float*>(scratch);
        return PoolNarrowRows(plan_, x, y, first, end - first, floats);
      }
      for (int64_t row = first; row < end; ++row) {
        if (selects_bytes_) {
          MaxBytesRow(plan_, x, y, row, scratch);
        } else {
          PoolRow(plan_, x, y, row);
        }
      }
    });
    pads_.Zero(args.stream, y);
    return OkStatus();
  }

 private:
  void SetPads(PoolPlan& plan, size_t axis) const {
    const int64_t span = (plan.kernel[axis] - 1) * plan.dilation[axis] + 1;
    const ops::Padding padding = ops::SamePadding(same_, plan.in[axis], span, plan.stride[axis]);
    plan.pad_begin[axis] = padding.begin;
    plan.pad_end[axis] = padding.end;
  }

  PoolPlan plan_;
  ops::SamePads same_;  // else pads are those of these extents
  PadLanes pads_;
  bool narrow_, selects_bytes_;
  int64_t rows_per_task_ = 1;
  LaneScratch<std::byte> scratch_;
};

/// A pooling; batch and channels of the plan are those of a layout (In).
struct Facts {
  Shape x;
  PoolPlan plan;
  ops::SamePads same;

  Result<PoolPlan> In(const Layout& layout) const {
    ASSIGN_OR_RETURN(const ImageExtents images, SplitImages(x, layout));
    PoolPlan in = plan;
    in.batch = images.outer;
    in.channels = in.pitch = images.inner;
    return in;
  }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const AffineGroup affine, ReadAffineGroup(group, [](const ir::Node& node) {
                     return node.op == "MaxPool"_op;
                   }));
  const ir::Node& node = *affine.node;
  if (node.op != "MaxPool"_op && node.op != "AveragePool"_op)
    return Unsupported("computes poolings only");
  if (node.outputs.size() > 1) return Unsupported("computes no indices");
  const Shape &x = *group.value(affine.input).shape, &y = *group.value(affine.output).shape;
  if (x.rank() < 3 || x.rank() > 5) return Unsupported("1 to 3 spatial axes");
  ASSIGN_OR_RETURN(const ops::PoolAttributes pool, ops::ReadPool(node, x));
  PoolPlan plan{.max = node.op == "MaxPool"_op};
  plan.count_include_pad = pool.count_include_pad;
  if (affine.from.storage != affine.to.storage)
    return Unsupported("integers of different types on both sides");
  plan.storage = affine.from.storage;
  plan.mul = affine.mul();
  plan.add = affine.add();
  plan.least = affine.least();
  plan.greatest = affine.greatest();
  const size_t lead = 5 - x.rank();
  for (size_t i = 0; i < pool.kernel.size(); ++i) {
    const size_t to = i + lead;
    plan.in[to] = x[static_cast<int>(i) + 2];
    plan.out[to] = y[static_cast<int>(i) + 2];
    plan.kernel[to] = pool.kernel[i];
    plan.stride[to] = pool.strides[i];
    plan.dilation[to] = pool.dilations[i];
    plan.pad_begin[to] = pool.pad_begin[i];
    plan.pad_end[to] = pool.pad_end[i];
  }
  return Facts{x, plan, pool.same};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  const Shape& y = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(y);
  layouts.insert(layouts.begin(), {Layout::ChannelsLast(y.rank()), Layout::RowMajor()});
  std::vector<StateAssignment> states;
  for (const Layout& layout : layouts) {
    if (!facts.In(layout).ok()) continue;
    const State state{.layout = layout, .storage = facts.plan.storage};
    states.push_back({{state}, {state}});
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const State& state = problem.states.outputs[0];
  ASSIGN_OR_RETURN(const PoolPlan plan, facts.In(state.layout));
  PadLanes pads(problem.shape(problem.group->outputs[0]), state.layout, ByteSize(state.storage));
  return std::unique_ptr<PreparedKernel>(
      new Pool(plan, std::move(pads), facts.same, problem.threads));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true,
                                .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuPoolWindow;
const KernelDesc kCpuPoolWindow = {
    .name = "cpu.pool.window", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
