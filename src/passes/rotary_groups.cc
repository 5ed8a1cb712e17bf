#include "passes/rotary_groups.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::passes {

void ListRotaryGroups(const GraphIndex& index, std::vector<Group>& groups) {
  const ir::Graph& graph = index.graph();
  for (ir::NodeId id : graph.nodes().ids()) {
    const ir::Node& node = graph.node(id);
    if (node.op != "GroupQueryAttention"_op) continue;
    const ir::NodeId queries = index.Maker(node.inputs[0]), keys = index.Maker(node.inputs[1]);
    const auto turns = [&](ir::NodeId maker) {
      return maker >= 0 && graph.node(maker).op == "RotaryEmbedding"_op && index.Next(maker) == id;
    };
    if (queries == keys || !turns(queries) || !turns(keys)) continue;
    Group group{.nodes = {queries, keys, id}, .pattern = "turned"};
    std::ranges::sort(group.nodes);
    for (ir::ValueId output : node.outputs)
      if (output != ir::kAbsent) group.outputs.push_back(output);
    groups.push_back(std::move(group));
  }
}

}  // namespace fettle::passes
