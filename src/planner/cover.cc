#include "planner/cover.h"

#include <algorithm>

namespace fettle::planner {

Status NoChoice(const ir::Node& node, const GroupChoices& choices) {
  std::string reasons;
  for (const Rejection& rejection : choices.rejected) {
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", rejection.kernel, rejection.reason);
  }
  return Unsupported("{}: no kernel computes it: {}", ir::Describe(node), reasons);
}

Result<Cover> GreedyCover(const ir::Graph& graph, const Device& device, const Limits& limits) {
  std::vector<passes::Group> groups = passes::ListGroups(graph);
  std::vector<std::vector<const passes::Group*>> by_node(graph.nodes().size());
  for (const passes::Group& group : groups) {
    if (limits.reference_only && group.nodes.size() > 1) continue;
    for (ir::NodeId node : group.nodes) by_node[static_cast<size_t>(node)].push_back(&group);
  }
  Cover cover;
  std::vector<bool> covered(graph.nodes().size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (covered[n]) continue;
    std::stable_sort(by_node[n].begin(), by_node[n].end(),
                     [](const passes::Group* a, const passes::Group* b) {
                       return a->nodes.size() > b->nodes.size();
                     });
    GroupChoices best;
    for (const passes::Group* group : by_node[n]) {
      const bool is_free =
          std::none_of(group->nodes.begin(), group->nodes.end(),
                       [&](ir::NodeId id) { return covered[static_cast<size_t>(id)]; });
      if (!is_free) continue;
      best = ListChoices(graph, *group, device, limits);
      if (best.choices.empty()) continue;
      for (ir::NodeId id : group->nodes) covered[static_cast<size_t>(id)] = true;
      break;
    }
    if (!covered[n]) return NoChoice(graph.nodes()[n], best);
    cover.push_back(std::move(best));
  }
  return cover;
}

}  // namespace fettle::planner
