#include <algorithm>

#include "kernels/expr/lowering.h"

namespace fettle::kernels::expr {
namespace {

/// A value of one element or of rank 1 as it runs along `axis` of `like`: extents of 1 elsewhere.
Result<Shape> ShapeAlongAxis(const ir::Value& value, int axis, const Shape& like) {
  Shape along(Dims(like.rank(), 1));
  const int64_t count = value.shape->elements();
  if (count == 1) return along;
  if (axis < 0 || axis >= like.rank() || count != like[axis])
    return Unsupported("'{}' does not run along axis {}", value.name, axis);
  along[axis] = count;
  return along;
}

}  // namespace

Lowering::Lowering(const ir::Graph& group, ir::ValueId running)
    : group_(group),
      producers_(group.Producers()),
      elements_(shape(group.outputs[0]).elements()),
      made_{.running = running} {}

Result<Expr> Lowering::Run() {
  if (made_.running != ir::kAbsent && shape(made_.running).elements() != elements_)
    return Unsupported("the value that the expression continues from is broadcast");
  for (ir::ValueId id : group_.outputs) {
    ASSIGN_OR_RETURN(const Ref result, Read(id));
    made_.results.push_back(result);
  }
  return std::move(made_);
}

Result<Ref> Lowering::Read(ir::ValueId id) {
  if (const auto known = values_.find(id); known != values_.end()) return known->second;
  const ir::NodeId producer = producers_[id];
  Ref value = 0;
  if (id == made_.running || producer < 0) {
    value = LeafOf(id, shape(id));
  } else if (shape(id).elements() != elements_) {
    return Unsupported("'{}' would be computed again for each element that it is broadcast to",
                       group_.value(id).name);
  } else {
    ASSIGN_OR_RETURN(value, LowerNode(*this, group_.node(producer)));
  }
  values_[id] = value;
  return value;
}

Result<Ref> Lowering::ReadAlongAxis(ir::ValueId id, int axis, const Shape& like) {
  if (producers_[id] >= 0)
    return Unsupported("'{}' is computed in the group", group_.value(id).name);
  ASSIGN_OR_RETURN(const Shape along, ShapeAlongAxis(group_.value(id), axis, like));
  return LeafOf(id, along);
}

/// A value that no node of the group computes, seen as `shape`.
Ref Lowering::LeafOf(ir::ValueId id, const Shape& shape) {
  Leaf leaf{.shape = shape};
  if (id == made_.running) return Add(std::move(leaf));
  if (!group_.value(id).is_constant()) {
    const auto at = std::find(group_.inputs.begin(), group_.inputs.end(), id);
    FETTLE_CHECK(at != group_.inputs.end(), "a group reads a value that it does not name");
    leaf.input = static_cast<int>(at - group_.inputs.begin());
    return Add(std::move(leaf));
  }
  if (const auto number = NumberOf(id)) return Add({.number = number, .constants = {id}});
  return Derived({id}, shape, "copy", nullptr);
}

std::optional<float> Lowering::NumberOf(ir::ValueId id) const {
  const auto& constant = group_.value(id).constant;
  if (constant == nullptr || constant->elements() == 0) return std::nullopt;
  if (constant->elements() != 1 && !constant->is_splat()) return std::nullopt;
  return static_cast<float>(constant->GetDouble(0));
}

Ref Lowering::Derived(std::vector<ir::ValueId> constants, const Shape& shape, std::string recipe,
                      MakeElement make) {
  return Add({.shape = shape,
              .constants = std::move(constants),
              .recipe = std::move(recipe),
              .make = std::move(make)});
}

Ref Lowering::Number(float value) { return Add({.number = value}); }

/// One leaf for all that read the same: but for numbers, whose values tell nothing.
Ref Lowering::Add(Leaf leaf) {
  const auto is_same = [&](const Leaf& other) {
    return other.input == leaf.input && other.constants == leaf.constants &&
           other.recipe == leaf.recipe && other.shape == leaf.shape &&
           other.number.has_value() == leaf.number.has_value();
  };
  const bool is_anonymous = leaf.number && leaf.constants.empty();
  const auto known = is_anonymous ? made_.leaves.end()
                                  : std::find_if(made_.leaves.begin(), made_.leaves.end(), is_same);
  const auto at = static_cast<Ref>(known - made_.leaves.begin());
  if (known == made_.leaves.end()) made_.leaves.push_back(std::move(leaf));
  return ~at;
}

Ref Lowering::Emit(const Inst& inst) {
  made_.code.push_back(inst);
  return static_cast<Ref>(made_.code.size()) - 1;
}

Result<Expr> Lower(const ir::Graph& group, ir::ValueId running) {
  if (group.outputs.empty()) return Unsupported("no output");
  return Lowering(group, running).Run();
}

}  // namespace fettle::kernels::expr
