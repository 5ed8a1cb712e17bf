// The graph: values, nodes in topological order, and the edits that passes make.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_vector.h"
#include "base/status.h"
#include "ir/attributes.h"
#include "ir/op_desc.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace fettle::ir {

using ValueId = int32_t;
using NodeId = int32_t;
/// An optional operand that is left out.
inline constexpr ValueId kAbsent = -1;

struct Value {
  std::string name;
  DType dtype = DType::kUndefined;
  /// Unknown rank: no shape. Unknown extents: -1.
  std::optional<Shape> shape;
  /// Names of the symbolic extents of graph inputs and outputs ("" where none); empty or one per
  /// axis.
  std::vector<std::string> symbols;
  /// Set for initialisers and for whatever was folded.
  std::shared_ptr<const Constant> constant;

  bool is_constant() const { return constant != nullptr; }
  bool has_concrete_shape() const { return shape.has_value() && shape->IsConcrete(); }
};

struct Node {
  /// A row of the operator table (ops/table.cc), with the semantics of the newest supported opset.
  OpRef op;
  std::string name;
  Attributes attributes;
  std::vector<ValueId> inputs;   // kAbsent where left out
  std::vector<ValueId> outputs;  // kAbsent where unused
  /// Where it came from: index, operator and opset in the model file, for messages; -1 where a pass
  /// made it.
  int source_index = -1;
  std::string source_op;
  int source_opset = 0;
  bool dead = false;

  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kAbsent; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : kAbsent; }
};

/// "node #12 'up_1' (Resize, opset 13)": the start of every message about a node.
std::string Describe(const Node& node);

/// A data-flow graph. Sub-graphs of If/Loop/Scan are attributes of their node; what they capture
/// from outside are extra inputs of that node, mapped in order to extra inputs of the sub-graph.
/// Not synchronised.
class Graph {
 public:
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  const IdVector<ValueId, Value>& values() const { return values_; }
  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  Value& value(ValueId id) { return values_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }

  ValueId AddValue(Value value);
  ValueId AddConstant(std::string name, Constant constant);
  /// Appends a node that has an operator; call Normalise() before the order matters.
  NodeId AddNode(Node node);
  std::optional<ValueId> FindValue(std::string_view name) const;

  /// The node that writes each value (-1: none), and the nodes that read it. Rebuilt by the call,
  /// in O(size).
  IdVector<ValueId, NodeId> Producers() const;
  IdVector<ValueId, std::vector<NodeId>> Consumers() const;

  /// Drops dead nodes and values nobody names, sorts nodes topologically (stable). Ids change.
  /// Fails with kInvalidModel on a cycle.
  Status Normalise();

 private:
  IdVector<ValueId, Value> values_;
  IdVector<NodeId, Node> nodes_;
};

/// Checks the invariants: ids in range, one producer per value, topological order, no dead nodes,
/// constants without a producer, concrete types where inferred. Run after each pass in debug builds
/// and tests.
Status Verify(const Graph& graph);

}  // namespace fettle::ir
