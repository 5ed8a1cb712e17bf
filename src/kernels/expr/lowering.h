// One group being lowered.
#pragma once

#include <map>

#include "kernels/expr/expr.h"

namespace fettle::kernels::expr {

class Lowering {
 public:
  Lowering(const ir::Graph& group, ir::ValueId running);
  Result<Expr> Run();

  const ir::Graph& group() const { return group_; }
  DType dtype(ir::ValueId id) const { return group_.value(id).dtype; }
  const Shape& shape(ir::ValueId id) const { return *group_.value(id).shape; }

  /// A value of the group; lowers the node that computes it where that is still to be done.
  Result<Ref> Read(ir::ValueId id);
  /// A value of one element or of rank 1 that runs along `axis` of `like`.
  Result<Ref> ReadAlongAxis(ir::ValueId id, int axis, const Shape& like);
  /// What every element of a constant is, where that is one value.
  std::optional<float> NumberOf(ir::ValueId id) const;
  /// A constant of `shape` made of others. Equal recipes make equal elements of equal constants.
  Ref Derived(std::vector<ir::ValueId> constants, const Shape& shape, std::string recipe,
              MakeElement make);
  Ref Number(float value);
  Ref Emit(const Inst& inst);

 private:
  Ref LeafOf(ir::ValueId id, const Shape& shape);
  Ref Add(Leaf leaf);

  const ir::Graph& group_;
  std::vector<ir::NodeId> producers_;
  int64_t elements_;  // of output 0
  std::map<ir::ValueId, Ref> values_;
  Expr made_;
};

/// lower_node.cc: the value of a node's output.
Result<Ref> LowerNode(Lowering& lowering, const ir::Node& node);

}  // namespace fettle::kernels::expr
