// Edits of one pass on a graph. The uses of every value are kept up to date in constant time.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/op.h"

namespace fettle::passes {

/// Wraps a graph in topological order for the time of one pass. Nodes are added at the end and
/// removed by a mark; Finish() sorts and drops. References to nodes do not survive Add and Replace.
class Editor {
 public:
  explicit Editor(ir::Graph& graph);

  ir::Graph& graph() { return graph_; }
  const ir::Graph& graph() const { return graph_; }
  const ir::Node& node(ir::NodeId id) const { return graph_.node(id); }
  const ir::Value& value(ir::ValueId id) const { return graph_.value(id); }
  /// Nodes so far, removed ones included.
  ir::NodeId end() const { return static_cast<ir::NodeId>(graph_.nodes().size()); }

  /// The node that writes `value`, -1 for graph inputs, constants and ir::kAbsent.
  ir::NodeId ProducerId(ir::ValueId value) const;
  /// The same as a pointer; null where no node writes it or the node is not an `op`.
  const ir::Node* Producer(ir::ValueId value, ir::OpRef op = {}) const;
  /// The nodes that read `value`, once per operand.
  const std::vector<ir::NodeId>& Readers(ir::ValueId value) const;
  bool IsOutput(ir::ValueId value) const { return is_output_[value]; }
  /// Whether exactly one operand of one node is the value, and no graph output.
  bool HasOneUse(ir::ValueId value) const;
  /// The node behind HasOneUse, or -1.
  ir::NodeId OnlyReader(ir::ValueId value) const;

  ir::ValueId AddConstant(Constant constant);
  /// Adds a node that writes one new value, which is returned. Its provenance is that of `like`.
  ir::ValueId Add(const ir::Node& like, ir::OpRef op, std::vector<ir::ValueId> inputs,
                  ir::Attributes attributes = {});
  /// Puts a new node in the place of `old`: it writes all of its outputs. Removes nodes that
  /// nothing needs any more. Returns the new node.
  ir::NodeId Replace(ir::NodeId old, ir::OpRef op, std::vector<ir::ValueId> inputs,
                     ir::Attributes attributes = {});
  /// Makes a new node the producer of output `i` of `old`; other outputs stay with `old`, which is
  /// removed when nothing needs them.
  ir::NodeId ReplaceOutput(ir::NodeId old, size_t i, ir::OpRef op, std::vector<ir::ValueId> inputs,
                           ir::Attributes attributes = {});
  /// Makes `node` read `value` as operand `i`.
  void SetInput(ir::NodeId node, size_t i, ir::ValueId value);
  void SetAttribute(ir::NodeId node, std::string_view name, ir::Attribute value);
  /// Makes all readers of `node`'s output 0 read the equal `value`, and removes the node. Graph
  /// outputs keep their names: where the node wrote one, the producer of `value` writes that output
  /// instead, and `value` is removed. Returns which of the two values remains; ir::kAbsent, with
  /// nothing changed, where an output or a graph input would lose its name.
  ir::ValueId Bypass(ir::NodeId node, ir::ValueId value);
  /// Makes the value a constant and removes its producer, which may write nothing else.
  void MakeConstant(ir::ValueId value, Constant constant);
  /// Removes `node`, then all nodes that nothing needs without it.
  void Remove(ir::NodeId node);
  /// Gives `node` the provenance of `from`.
  void CopyProvenance(const ir::Node& from, ir::NodeId node);
  /// Gives `to` the type and shape of `from`.
  void CopyType(ir::ValueId from, ir::ValueId to) {
    graph_.value(to).dtype = graph_.value(from).dtype;
    graph_.value(to).shape = graph_.value(from).shape;
  }
  void SetType(ir::ValueId value, DType dtype, Shape shape) {
    graph_.value(value).dtype = dtype;
    graph_.value(value).shape = std::move(shape);
  }
  /// Forgets the shape of a value that a rewrite gave another one; inference finds it again.
  void ForgetShape(ir::ValueId value) { graph_.value(value).shape.reset(); }

  /// Restores the order of nodes. True if anything changed.
  Result<bool> Finish();

 private:
  void Grow();
  void AddUses(ir::NodeId node);
  void DropUse(ir::ValueId value, ir::NodeId reader);
  bool IsUnused(ir::NodeId node) const;
  ir::NodeId Append(ir::Node node);
  void Redirect(ir::ValueId from, ir::ValueId to);

  ir::Graph& graph_;
  IdVector<ir::ValueId, ir::NodeId> producers_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> readers_;
  IdVector<ir::ValueId, bool> is_output_;
  bool changed_ = false;
};

/// True if a live node of the graph is one of `ops`: whether building an Editor is worth it.
bool HasOp(const ir::Graph& graph, std::initializer_list<ir::OpRef> ops);

}  // namespace fettle::passes
