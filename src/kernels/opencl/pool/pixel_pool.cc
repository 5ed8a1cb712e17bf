#include "kernels/opencl/pool/pixel_pool.h"

#include "kernels/opencl/states.h"
#include "ops/reduce/op.h"

namespace fettle::kernels {
namespace {

/// A window of fewer axes as one of depth and height 1.
void GiveDepth(ops::Window& window) {
  for (auto* ones : {&window.kernel, &window.strides, &window.dilations})
    ones->insert(ones->begin(), 3 - ones->size(), 1);
  for (auto* zeros : {&window.pad_begin, &window.pad_end})
    zeros->insert(zeros->begin(), 3 - zeros->size(), 0);
}

/// The window that covers the whole plane or volume.
PixelPool WholePlane(const Shape& x, bool is_max) {
  PixelPool plan{.kind = is_max ? PixelPoolKind::kMax : PixelPoolKind::kAverageInside,
                 .window = {}};
  plan.window.kernel.assign(x.dims().begin() + 2, x.dims().end());
  plan.window.strides = plan.window.dilations = Dims(plan.window.kernel.size(), 1);
  plan.window.pad_begin = plan.window.pad_end = Dims(plan.window.kernel.size(), 0);
  GiveDepth(plan.window);
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

/// Whether an axis has a window that no element of the input falls into.
bool HasWindowOfPadding(const ops::Window& window, size_t axis, int64_t in, int64_t out) {
  for (int64_t position = 0; position < out; ++position) {
    const int64_t first = position * window.strides[axis] - window.pad_begin[axis];
    bool inside = false;
    for (int64_t tap = 0; tap < window.kernel[axis] && !inside; ++tap) {
      const int64_t at = first + tap * window.dilations[axis];
      inside = at >= 0 && at < in;
    }
    if (!inside) return true;
  }
  return false;
}

}  // namespace

Status RefuseWindowsOfPadding(const ops::Window& window, const Shape& x, const Shape& y) {
  for (size_t axis = 0; axis < window.kernel.size(); ++axis)
    if (HasWindowOfPadding(window, axis, x.dims()[axis + 2], y.dims()[axis + 2]))
      return Unsupported("a window of padding alone");
  return OkStatus();
}

Result<PixelPool> ReadPixelPool(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  if (!IsFloatValue(x.dtype) || !HasVolumeRank(*x.shape) || x.is_constant())
    return Unsupported("expected a float tensor of rank 3 to 5");
  if (node.outputs.size() > 1) return Unsupported("indices are left to the reference");
  if (x.shape->elements() == 0) return Unsupported("planes of no elements");
  if (node.op == "GlobalAveragePool"_op || node.op == "GlobalMaxPool"_op)
    return WholePlane(*x.shape, node.op == "GlobalMaxPool"_op);
  if (node.op == "ReduceMean"_op || node.op == "ReduceMax"_op) {
    ASSIGN_OR_RETURN(const bool folds_plane, FoldsPlane(group, node, *x.shape));
    if (!folds_plane) return Unsupported("a reduction of other axes than the plane's");
    return WholePlane(*x.shape, node.op == "ReduceMax"_op);
  }
  if (node.op != "MaxPool"_op && node.op != "AveragePool"_op)
    return Unsupported("computes poolings only");
  ASSIGN_OR_RETURN(ops::PoolAttributes pool, ops::ReadPool(node, *x.shape));
  if (node.op == "MaxPool"_op)
    RETURN_IF_ERROR(RefuseWindowsOfPadding(pool, *x.shape, *group.value(node.outputs[0]).shape));
  GiveDepth(pool);
  PixelPoolKind kind = PixelPoolKind::kMax;
  if (node.op == "AveragePool"_op)
    kind = pool.count_include_pad ? PixelPoolKind::kAverageAll : PixelPoolKind::kAverageInside;
  return PixelPool{kind, std::move(pool)};
}

}  // namespace fettle::kernels
