#include "passes/clean/forward_sweep.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/clean/fold_node.h"

namespace fettle::passes {
namespace {

bool CanInfer(const ir::Graph& graph, const ir::Node& node) {
  if (node.op->Has(ir::Trait::kControl)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
    return id == ir::kAbsent ||
           (graph.value(id).has_concrete_shape() && graph.value(id).dtype != DType::kUndefined);
  });
}

bool HasShapes(const ir::Graph& graph, const ir::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
    return id == ir::kAbsent ||
           (graph.value(id).has_concrete_shape() && graph.value(id).dtype != DType::kUndefined);
  });
}

bool AllKnown(const ir::Graph& graph, const ir::Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
    return id == ir::kAbsent || graph.value(id).is_constant();
  });
}

void ForgetShapes(ir::Graph& graph, const ir::Node& node) {
  for (ir::ValueId id : node.outputs) {
    if (id != ir::kAbsent) graph.value(id).shape.reset();
  }
}

/// Stores and returns what inference says.
Result<ops::Inferred> StoreInferred(ir::Graph& graph, const ir::Node& node) {
  ASSIGN_OR_RETURN(ops::Inferred inferred, ops::Infer(graph, node));
  if (inferred.needed_input >= 0) {
    ForgetShapes(graph, node);
    return inferred;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kAbsent) continue;
    ir::Value& value = graph.value(node.outputs[i]);
    value.dtype = inferred.outputs[i].dtype;
    value.shape = inferred.outputs[i].shape;
  }
  return inferred;
}

}  // namespace

Result<std::vector<Pending>> Sweep(ir::Graph& graph, bool trusts_shapes) {
  struct Waiting {
    ir::NodeId node;
    int operand;
  };
  std::vector<Waiting> waiting;
  ir::NodeId live = 0;  // the id of the current node once dead ones are gone
  for (ir::NodeId id : graph.nodes().ids()) {
    ir::Node& node = graph.node(id);
    if (FoldShape(graph, node)) {
      node.dead = true;
      continue;
    }
    if (!CanInfer(graph, node)) {
      ForgetShapes(graph, node);
    } else if (!trusts_shapes || !HasShapes(graph, node) || AllKnown(graph, node)) {
      ASSIGN_OR_RETURN(const ops::Inferred inferred, StoreInferred(graph, node));
      if (inferred.needed_input >= 0) {
        waiting.push_back({live, inferred.needed_input});
      } else if (AllKnown(graph, node) && FoldData(graph, node, inferred)) {
        node.dead = true;
        continue;
      }
    }
    ++live;
  }
  // Normalise keeps the order of nodes that are in order, but gives values new ids.
  if (live != std::ssize(graph.nodes())) RETURN_IF_ERROR(graph.Normalise());
  std::vector<Pending> pending;
  for (const Waiting& waits : waiting) {
    pending.push_back({waits.node, graph.node(waits.node).input(waits.operand)});
  }
  return pending;
}

}  // namespace fettle::passes
