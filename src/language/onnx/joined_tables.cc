#include "language/onnx/joined_tables.h"

#include <algorithm>
#include <map>

#include "language/onnx/length_values.h"
#include "ops/op.h"

namespace fettle::language {
namespace {

class TableJoiner {
 public:
  explicit TableJoiner(ir::Graph& graph) : graph_(graph), consumers_(graph.Consumers()) {}

  Status Run() {
    const auto end = static_cast<ir::NodeId>(graph_.nodes().size());
    for (ir::NodeId id = 0; id < end; ++id)
      if (graph_.node(id).op == "If"_op && Fits(id)) Join(id);
    return graph_.Normalise();
  }

 private:
  const ir::Graph* Branch(const ir::Node& node, const char* name) const {
    return node.attributes.SubGraph(name).get();
  }
  const ir::Value& Table(const ir::Graph& branch, size_t output) const {
    return branch.value(branch.outputs[output]);
  }

  bool Fits(ir::NodeId id) const {
    const ir::Node& node = graph_.node(id);
    const ir::Graph *then = Branch(node, "then_branch"), *other = Branch(node, "else_branch");
    if (node.inputs.size() != 1 || node.outputs.size() != 2 || then == nullptr ||
        other == nullptr || then->outputs.size() != 2 || other->outputs.size() != 2)
      return false;
    for (size_t i = 0; i < 2; ++i) {
      const ir::Value &a = Table(*then, i), &b = Table(*other, i);
      if (!a.is_constant() || !b.is_constant() || a.constant->dtype() != b.constant->dtype() ||
          a.constant->shape().rank() != 2 || b.constant->shape().rank() != 2 ||
          a.constant->shape()[1] != b.constant->shape()[1] ||
          a.constant->shape() != Table(*then, 0).constant->shape() ||
          b.constant->shape() != Table(*other, 0).constant->shape() ||
          std::ranges::find(graph_.outputs, node.outputs[i]) != graph_.outputs.end() ||
          !std::ranges::all_of(consumers_[node.outputs[i]], [&](ir::NodeId reader) {
            return Rotates(graph_.node(reader), node);
          }))
        return false;
    }
    return true;
  }
  bool Rotates(const ir::Node& reader, const ir::Node& node) const {
    if (reader.op != "RotaryEmbedding"_op || reader.input(3) == ir::kAbsent) return false;
    const DType positions = graph_.value(reader.input(3)).dtype;
    return reader.input(1) == node.outputs[0] && reader.input(2) == node.outputs[1] &&
           (positions == DType::kI64 || positions == DType::kUndefined);
  }

  void Join(ir::NodeId id) {
    const ir::Node node = graph_.node(id);
    const ir::Graph *then = Branch(node, "then_branch"), *other = Branch(node, "else_branch");
    ir::ValueId tables[2];
    for (size_t i = 0; i < 2; ++i)
      tables[i] = AddNode(graph_, "Concat",
                          {graph_.AddConstant("", *Table(*other, i).constant),
                           graph_.AddConstant("", *Table(*then, i).constant)},
                          {{"axis", int64_t{0}}});
    const int64_t behind = Table(*other, 0).constant->shape()[0];
    const ir::ValueId first =
        AddNode(graph_, "Where", {node.inputs[0], AddInts(graph_, {behind}), AddInts(graph_, {0})});
    std::map<ir::ValueId, ir::ValueId> moved;
    for (ir::NodeId reader : consumers_[node.outputs[0]]) {
      const auto [at, is_new] = moved.try_emplace(graph_.node(reader).inputs[3], ir::kAbsent);
      if (is_new) at->second = AddNode(graph_, "Add", {at->first, first});
      graph_.node(reader).inputs[1] = tables[0];
      graph_.node(reader).inputs[2] = tables[1];
      graph_.node(reader).inputs[3] = at->second;
    }
    graph_.node(id).dead = true;
  }

  ir::Graph& graph_;
  IdVector<ir::ValueId, std::vector<ir::NodeId>> consumers_;
};

}  // namespace

Status JoinTables(ir::Graph& graph) { return TableJoiner(graph).Run(); }

}  // namespace fettle::language
