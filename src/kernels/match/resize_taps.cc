#include "kernels/match/resize_taps.h"

#include <algorithm>

#include "base/memory_budget.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

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

Result<ResizeTaps> TapsOf(const ops::ResizeAttributes& resize, const Shape& x) {
  ResizeTaps all{resize.output, {}, nullptr};
  for (int axis = 0; axis < x.rank(); ++axis) {
    // An index and a weight of each tap.
    RETURN_IF_ERROR(MemoryBudget::Current()->Check(resize.output[axis] * 16));
    all.taps.push_back(ops::MakeAxisTaps(resize, x[axis], axis));
    const auto& outside = all.taps.back().outside;
    if (std::find(outside.begin(), outside.end(), true) != outside.end())
      return Unsupported("extrapolated elements");
  }
  return all;
}

}  // namespace

Result<ResizeTaps> ReadResizeTaps(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "Resize"_op) return Unsupported("computes Resize only");
  const Shape& x = *group.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const ops::ResizeOperands operands, ReadOperands(group, node));
  ASSIGN_OR_RETURN(const ops::ResizeAttributes resize, ops::ReadResize(node, x, operands));
  if (resize.output.elements() == 0 || x.elements() == 0) return Unsupported("nothing to resize");
  ASSIGN_OR_RETURN(ResizeTaps all, TapsOf(resize, x));
  if (operands.sizes.empty() && resize.coordinate != ops::CoordinateMode::kTfCropAndResize)
    all.resize = std::make_shared<const ops::ResizeAttributes>(resize);
  return all;
}

Result<ResizeTaps> TapsAt(const ops::ResizeAttributes& known, const Shape& x, const Shape& y) {
  ops::ResizeAttributes resize = known;
  resize.output = y;
  return TapsOf(resize, x);
}

}  // namespace fettle::kernels
