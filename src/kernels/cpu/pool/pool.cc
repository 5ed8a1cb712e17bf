// cpu.pool.nhwc: MaxPool and AveragePool over channels-last images in fp32, and over u8 and i8
// between DequantizeLinear and QuantizeLinear (or, for a maximum, alone).
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/pool/row.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/kernel.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

class Pool final : public PreparedKernel {
 public:
  explicit Pool(const PoolPlan& plan) : plan_(plan) {
    // Enough input bytes per task to hide its claim.
    const int64_t taps = plan.kernel[0] * plan.kernel[1] * plan.kernel[2];
    const int64_t work = std::max<int64_t>(plan.out[2] * plan.channels * taps, 1);
    rows_per_task_ = std::max<int64_t>(1, 16384 / work);
  }

  Status Launch(const LaunchArgs& args) const override {
    const auto* x = args.inputs[0].host<std::byte>();
    auto* y = args.outputs[0].host<std::byte>();
    const int64_t rows = plan_.batch * plan_.out[0] * plan_.out[1];
    if (plan_.channels == 0) return OkStatus();
    const int64_t tasks = (rows + rows_per_task_ - 1) / rows_per_task_;
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(rows, (task + 1) * rows_per_task_);
      for (int64_t row = task * rows_per_task_; row < end; ++row) PoolRow(plan_, x, y, row);
    });
    return OkStatus();
  }

 private:
  PoolPlan plan_;
  int64_t rows_per_task_ = 1;
};

/// A maximum of bytes as they are: no scale takes part.
Result<AffineGroup> ReadGroup(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() == 1 && node.op == "MaxPool" && group.outputs.size() == 1 &&
      group.inputs.size() == 1) {
    const DType dtype = group.value(group.inputs[0]).dtype;
    if (dtype == DType::kU8 || dtype == DType::kI8) {
      const AffineType type{.storage = dtype};
      return AffineGroup{&node, group.inputs[0], group.outputs[0], type, type};
    }
  }
  return ReadAffineGroup(group);
}

Result<PoolPlan> MakePlan(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const AffineGroup affine, ReadGroup(group));
  const ir::Node& node = *affine.node;
  if (node.op != "MaxPool" && node.op != "AveragePool") return Unsupported("not a pooling");
  if (node.outputs.size() > 1) return Unsupported("indices are left to the reference");
  const Shape &x = *group.value(affine.input).shape, &y = *group.value(affine.output).shape;
  if (x.rank() < 3 || x.rank() > 5) return Unsupported("1 to 3 spatial axes");
  ASSIGN_OR_RETURN(const ops::PoolAttributes pool, ops::ReadPool(node, x));
  PoolPlan plan{.batch = x[0], .channels = x[1], .max = node.op == "MaxPool"};
  plan.count_include_pad = pool.count_include_pad;
  if (affine.from.storage != affine.to.storage)
    return Unsupported("integers of different types on both sides");
  plan.storage = affine.from.storage;
  plan.mul = affine.mul();
  plan.add = affine.add();
  plan.least = affine.least();
  plan.greatest = affine.greatest();
  const auto lead = static_cast<size_t>(5 - x.rank());
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
  return plan;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const PoolPlan plan, MakePlan(group));
  const Layout layout = Layout::ChannelsLast(group.value(group.outputs[0]).shape->rank());
  return std::vector<StateAssignment>{{{{.layout = layout, .storage = plan.storage}},
                                       {{.layout = layout, .storage = plan.storage}}}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device&) {
  ASSIGN_OR_RETURN(const PoolPlan plan, MakePlan(*problem.group));
  return std::unique_ptr<PreparedKernel>(new Pool(plan));
}

}  // namespace

extern const KernelDesc kCpuPoolNhwc;
const KernelDesc kCpuPoolNhwc = {
    .name = "cpu.pool.nhwc", .preference = 10, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
