#include "passes/outline.h"

#include <algorithm>
#include <bit>

namespace fettle::passes {

Outline::Outline(const ir::Graph& graph) {
  const auto add_ids = [&](const std::vector<ir::ValueId>& ids) {
    structure.push_back(std::ssize(ids));
    for (ir::ValueId id : ids) structure.push_back(static_cast<int64_t>(id));
  };
  structure.reserve(8 * graph.nodes().size() + 2 * graph.values().size());
  extents.reserve(4 * graph.values().size());
  add_ids(graph.inputs);
  add_ids(graph.outputs);
  for (const ir::Node& node : graph.nodes()) {
    structure.push_back(std::bit_cast<intptr_t>(&*node.op));
    add_ids(node.inputs);
    add_ids(node.outputs);
  }
  for (const ir::Value& value : graph.values()) {
    const int rank = value.shape ? value.shape->rank() : -1;
    structure.push_back(4 * rank + (value.is_constant() ? 1 : 0));
    structure.push_back(static_cast<int64_t>(value.dtype));
    if (value.shape)
      extents.insert(extents.end(), value.shape->dims().begin(), value.shape->dims().end());
  }
}

double Distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double most = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto [least, greatest] = std::minmax(a[i], b[i]);
    if (least <= 1) return 0;
    const double ratio = static_cast<double>(greatest) / static_cast<double>(least);
    if (ratio > kNearRatio) return 0;
    most = std::max(most, ratio);
  }
  return most;
}

}  // namespace fettle::passes
