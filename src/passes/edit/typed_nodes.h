// New nodes, with their types, for a rewrite that replaces a node by several.
#pragma once

#include <utility>
#include <vector>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {

/// Adds nodes in the place of `like`, which write one type each unless they say another.
class TypedNodes {
 public:
  TypedNodes(Editor& editor, const ir::Node& like, DType dtype)
      : editor_(editor), like_(like), dtype_(dtype) {}

  Editor& editor() { return editor_; }
  /// The node as it was before anything was added.
  const ir::Node& like() const { return like_; }
  DType dtype() const { return dtype_; }
  Shape ShapeOf(ir::ValueId id) const { return *editor_.value(id).shape; }

  ir::ValueId Add(ir::OpRef op, std::vector<ir::ValueId> inputs, Dims dims,
                  ir::Attributes attributes = {}) {
    return AddOf(dtype_, op, std::move(inputs), std::move(dims), std::move(attributes));
  }
  ir::ValueId AddOf(DType dtype, ir::OpRef op, std::vector<ir::ValueId> inputs, Dims dims,
                    ir::Attributes attributes = {}) {
    const ir::ValueId made = editor_.Add(like_, op, std::move(inputs), std::move(attributes));
    editor_.SetType(made, dtype, Shape(std::move(dims)));
    return made;
  }
  ir::ValueId Ints(const std::vector<int64_t>& values) {
    return editor_.AddConstant(IntsConstant(values));
  }
  /// A scalar. Fails with kOutOfMemory.
  Result<ir::ValueId> Number(double value) {
    ASSIGN_OR_RETURN(Constant number, ConstantFrom(dtype_, Shape{}, {value}));
    return editor_.AddConstant(std::move(number));
  }
  ir::ValueId Reshape(ir::ValueId x, const Dims& dims) {
    return Add("Reshape"_op, {x, Ints(dims)}, dims);
  }
  ir::ValueId Transpose(ir::ValueId x, const Dims& dims, std::vector<int64_t> perm) {
    return Add("Transpose"_op, {x}, dims, {{"perm", std::move(perm)}});
  }
  /// Elements [begin, end) of the last axis.
  ir::ValueId LastAxis(ir::ValueId x, int64_t begin, int64_t end) {
    Dims dims = ShapeOf(x).dims();
    if (begin == 0 && end == dims.back()) return x;
    dims.back() = end - begin;
    return Add("Slice"_op, {x, Ints({begin}), Ints({end}), Ints({-1}), Ints({1})}, dims);
  }

 private:
  Editor& editor_;
  const ir::Node like_;
  DType dtype_;
};

}  // namespace fettle::passes
