// opencl.pool.window: MaxPool, AveragePool, their global forms and ReduceMean and ReduceMax over
// the plane, with an epilogue.
#include "kernels/family.h"
#include "kernels/opencl/pixels.h"
#include "ops/pool/op.h"
#include "ops/reduce/op.h"

namespace fettle::kernels {
namespace {

enum class PoolKind : cl_int { kMax = 0, kAverageInside = 1, kAverageAll = 2 };

struct PoolPlan {
  PoolKind kind = PoolKind::kMax;
  ops::Window window;
};

/// The window of rank 1 as one of height 1.
void GiveHeight(ops::Window& window) {
  for (auto* ones : {&window.kernel, &window.strides, &window.dilations})
    ones->insert(ones->begin(), 2 - ones->size(), 1);
  for (auto* zeros : {&window.pad_begin, &window.pad_end})
    zeros->insert(zeros->begin(), 2 - zeros->size(), 0);
}

/// The window that covers the whole plane.
PoolPlan WholePlane(const Shape& x, bool is_max) {
  PoolPlan plan{.kind = is_max ? PoolKind::kMax : PoolKind::kAverageInside, .window = {}};
  plan.window.kernel = {x.rank() == 3 ? 1 : x[2], x[x.rank() - 1]};
  plan.window.strides = plan.window.dilations = {1, 1};
  plan.window.pad_begin = plan.window.pad_end = {0, 0};
  return plan;
}

/// Whether a reduction keeps its axes and folds those of the plane.
Result<bool> FoldsPlane(const ir::Graph& group, const ir::Node& node, const Shape& x) {
  if (node.attributes.Int("keepdims", 1) == 0) return false;
  std::vector<int64_t> axes;
  if (node.input(1) != ir::kAbsent) {
    const auto& constant = group.value(node.input(1)).constant;
    if (constant == nullptr) return Unsupported("the axes are not constant");
    for (int64_t i = 0; i < constant->elements(); ++i) axes.push_back(constant->GetInt(i));
  }
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::ReduceAxes(node, x.rank(), axes));
  ops::AxisMask plane(x.rank(), true);
  plane[0] = plane[1] = false;
  return mask == plane;
}

Result<PoolPlan> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || !HasPixelRank(*x.shape) || x.is_constant())
    return Unsupported("expected a float tensor of rank 3 or 4");
  if (node.outputs.size() > 1) return Unsupported("indices are left to the reference");
  if (node.op == "GlobalAveragePool"_op || node.op == "GlobalMaxPool"_op)
    return WholePlane(*x.shape, node.op == "GlobalMaxPool"_op);
  if (node.op == "ReduceMean"_op || node.op == "ReduceMax"_op) {
    ASSIGN_OR_RETURN(const bool folds_plane, FoldsPlane(group, node, *x.shape));
    if (!folds_plane) return Unsupported("a reduction of other axes than the plane's");
    return WholePlane(*x.shape, node.op == "ReduceMax"_op);
  }
  if (node.op != "MaxPool"_op && node.op != "AveragePool"_op) return Unsupported("not a pooling");
  ASSIGN_OR_RETURN(ops::PoolAttributes pool, ops::ReadPool(node, *x.shape));
  GiveHeight(pool);
  PoolKind kind = PoolKind::kMax;
  if (node.op == "AveragePool"_op)
    kind = pool.count_include_pad ? PoolKind::kAverageAll : PoolKind::kAverageInside;
  return PoolPlan{kind, std::move(pool)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PoolPlan&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PoolPlan& plan,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0),
                                {.path = "pool/window.cl",
                                 .function = "window",
                                 .options = AccessOptions(problem.states.outputs[0]),
                                 .sizes = PixelSizes(problem.shape(group.outputs[0]))},
                                device));
  const ops::Window& w = plan.window;
  const auto [height, width] = PlaneOf(problem.shape(node.input(0)));
  made->recorded[0]
      .Value(static_cast<cl_int>(plan.kind))
      .Value(Int4(w.kernel[0], w.kernel[1], w.strides[0], w.strides[1]))
      .Value(Int4(w.dilations[0], w.dilations[1], w.pad_begin[0], w.pad_begin[1]))
      .Value(Int2(height + w.pad_end[0], width + w.pad_end[1]));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PoolPlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClPoolWindow;
const KernelDesc kOpenClPoolWindow = {.name = "opencl.pool.window", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
