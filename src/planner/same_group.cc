#include "planner/same_group.h"

#include <algorithm>

#include "passes/edit/equal_nodes.h"

namespace fettle::planner {
namespace {

bool SameValue(const ir::Value& a, const ir::Value& b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.is_constant() != b.is_constant()) return false;
  return a.constant == b.constant || passes::SameConstant(*a.constant, *b.constant);
}

/// Walks a group and a known one side by side.
class Pairing {
 public:
  Pairing(const ir::Graph& known, const ir::Graph& graph)
      : known_(known), graph_(graph), parent_(known.values().size(), ir::kAbsent) {}

  bool Add(const ir::Node& of_known, const ir::Node& of_graph) {
    return of_known.op == of_graph.op && Add(of_known.inputs, of_graph.inputs) &&
           Add(of_known.outputs, of_graph.outputs) &&
           passes::SameAttributes(of_known.attributes, of_graph.attributes);
  }

  /// What values of the known group are in the graph.
  std::vector<ir::ValueId> ParentsOf(const std::vector<ir::ValueId>& ids) const {
    std::vector<ir::ValueId> parents;
    for (ir::ValueId id : ids) parents.push_back(parent_[id]);
    return parents;
  }

 private:
  bool Add(const std::vector<ir::ValueId>& of_known, const std::vector<ir::ValueId>& of_graph) {
    if (of_known.size() != of_graph.size()) return false;
    for (size_t i = 0; i < of_known.size(); ++i) {
      if ((of_known[i] == ir::kAbsent) != (of_graph[i] == ir::kAbsent)) return false;
      if (of_known[i] == ir::kAbsent) continue;
      ir::ValueId& parent = parent_[of_known[i]];
      if (parent == of_graph[i]) continue;
      // One value here is one value there.
      if (parent != ir::kAbsent || std::ranges::find(parent_, of_graph[i]) != parent_.end() ||
          !SameValue(known_.value(of_known[i]), graph_.value(of_graph[i])))
        return false;
      parent = of_graph[i];
    }
    return true;
  }

  const ir::Graph& known_;
  const ir::Graph& graph_;
  IdVector<ir::ValueId, ir::ValueId> parent_;
};

}  // namespace

std::optional<passes::Fragment> FragmentLike(const std::shared_ptr<const ir::Graph>& known,
                                             const ir::Graph& graph,
                                             const std::vector<ir::NodeId>& nodes) {
  if (known == nullptr || known->nodes().size() != nodes.size()) return std::nullopt;
  Pairing pairing(*known, graph);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!pairing.Add(known->nodes()[i], graph.node(nodes[i]))) return std::nullopt;
  return passes::Fragment{known, pairing.ParentsOf(known->inputs),
                          pairing.ParentsOf(known->outputs)};
}

std::vector<ir::ValueId> ValuesInParent(const ir::Graph& group, const ir::Graph& graph,
                                        const std::vector<ir::NodeId>& nodes) {
  std::vector<ir::ValueId> parents(group.values().size(), ir::kAbsent);
  const auto pair = [&](const std::vector<ir::ValueId>& ids,
                        const std::vector<ir::ValueId>& in_parent) {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] != ir::kAbsent) parents[ids[i]] = in_parent[i];
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto at = static_cast<ir::NodeId>(i);
    pair(group.node(at).inputs, graph.node(nodes[i]).inputs);
    pair(group.node(at).outputs, graph.node(nodes[i]).outputs);
  }
  return parents;
}

}  // namespace fettle::planner
