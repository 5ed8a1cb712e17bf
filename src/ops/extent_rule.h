// Inference of one node at other extents by arithmetic.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// By input; null: absent.
using OperandShapes = std::span<const Shape* const>;

/// Made for a node whose inference succeeded. Gives what Infer gives for the same node at other
/// extents, for inputs of the same types and ranks. The values of inputs do not matter.
class ExtentRule {
 public:
  virtual ~ExtentRule() = default;
  /// Sets `output` to the shape of output 0; the node has no other output. False, with `output`
  /// unspecified, where Infer has to be called, as wherever it would refuse.
  virtual bool At(OperandShapes inputs, Shape& output) const = 0;
};

/// Makes a rule from a node and the shapes of its inputs; null: there is none.
using MakeExtentRule = std::unique_ptr<ExtentRule> (*)(const ir::Node& node, OperandShapes inputs);

struct ExtentRow {
  std::string_view op;
  MakeExtentRule make;
};
/// Of all operators that have rules.
const std::vector<ExtentRow>& ExtentRows();
/// That of `node`, which `graph` has inferred; null: none.
std::unique_ptr<ExtentRule> ExtentRuleOf(const ir::Graph& graph, const ir::Node& node);

}  // namespace fettle::ops
