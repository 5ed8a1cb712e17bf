#include "passes/graph_index.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {

GraphIndex::GraphIndex(const ir::Graph& graph)
    : graph_(graph),
      makers_(graph.Producers()),
      readers_(graph.Consumers()),
      is_output_(graph.values().size()) {
  for (ir::ValueId id : graph.outputs) is_output_[id] = true;
}

ir::ValueId GraphIndex::Result(ir::NodeId id) const {
  const ir::Node& node = graph_.node(id);
  const auto used =
      std::ranges::count_if(node.outputs, [](ir::ValueId value) { return value != ir::kAbsent; });
  return used == 1 ? node.output(0) : ir::kAbsent;
}

ir::NodeId GraphIndex::Next(ir::NodeId id) const {
  const ir::ValueId value = Result(id);
  if (value == ir::kAbsent || IsOutput(value) || Readers(value).size() != 1) return -1;
  return Readers(value)[0];
}

bool IsElementwise(const ir::Node& node) {
  return node.op->Has(ir::Trait::kElementwise) && !node.op->Has(ir::Trait::kRandom) &&
         node.outputs.size() == 1;
}

}  // namespace fettle::passes
