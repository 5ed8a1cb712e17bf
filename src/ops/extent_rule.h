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

/// Made for a node whose inference succeeded. Says what Infer says of the same node at other
/// extents: inputs of the same types and ranks. The values of inputs do not matter to it.
class ExtentRule {
 public:
  virtual ~ExtentRule() = default;
  /// Makes `output` the shape of output 0; the node has no other one. Says no, and leaves
  /// anything there, where Infer has to be asked, as it has wherever it would refuse.
  virtual bool At(OperandShapes inputs, Shape& output) const = 0;
};

/// How a rule is made of a node and the shapes of its inputs; null: there is none.
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
