#include "ops/macs.h"

#include <vector>

#include "ops/op.h"

namespace fettle::ops {

int64_t MacsOf(const ir::Graph& graph, const ir::Node& node) {
  const Operator& op = OperatorOf(node);
  if (op.macs == nullptr) return 0;
  const auto shapes = [&](const std::vector<ir::ValueId>& ids) {
    std::vector<Shape> result;
    result.reserve(ids.size());
    for (ir::ValueId id : ids)
      result.push_back(id == ir::kAbsent ? Shape{0} : *graph.value(id).shape);
    return result;
  };
  return op.macs(node, shapes(node.inputs), shapes(node.outputs));
}

int64_t MacsOf(const ir::Graph& graph) {
  int64_t macs = 0;
  for (const ir::Node& node : graph.nodes()) macs += MacsOf(graph, node);
  return macs;
}

}  // namespace fettle::ops
