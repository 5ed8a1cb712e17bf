// The axes that a reduction folds.
#pragma once

#include <vector>

#include "ops/reduce/op.h"

namespace fettle::kernels {

/// The axes of `node`, a reduction of a tensor of `rank` axes. Fails with kUnsupported where they
/// are only known at run time.
inline Result<ops::AxisMask> ConstantReduceMask(const ir::Graph& group, const ir::Node& node,
                                                int rank) {
  std::vector<int64_t> axes;
  if (const ir::ValueId id = node.input(1); id != ir::kAbsent) {
    const auto& constant = group.value(id).constant;
    if (constant == nullptr) return Unsupported("the axes are not constant");
    for (int64_t i = 0; i < constant->elements(); ++i) axes.push_back(constant->GetInt(i));
  }
  return ops::ReduceAxes(node, rank, axes);
}

}  // namespace fettle::kernels
