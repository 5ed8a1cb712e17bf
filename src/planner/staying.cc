#include "planner/staying.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace fettle::planner {
namespace {

/// By node: whether an entry that computes it may be taken.
std::vector<bool> Covered(const ir::Graph& graph, const Catalogue& catalogue,
                          const Prices& prices) {
  std::vector<bool> covered(graph.nodes().size());
  for (const Instance& instance : catalogue.instances) {
    if (std::all_of(prices[instance.kind].begin(), prices[instance.kind].end(),
                    [](const EntryCost& price) { return !price.banned.empty(); }))
      continue;
    for (ir::NodeId node : instance.nodes) covered[node] = true;
  }
  return covered;
}

/// The entry that `group` is; -1: none.
int FindEntry(const Kind& kind, const GroupDecision& group, int threads) {
  const int wanted = group.threads == 0 ? threads : group.threads;
  const auto found =
      std::find_if(kind.entries.begin(), kind.entries.end(), [&](const Entry& entry) {
        return entry.kernel->name == group.kernel && entry.states == group.states &&
               (entry.threads == wanted || entry.is_view);
      });
  return found == kind.entries.end() ? -1 : static_cast<int>(found - kind.entries.begin());
}

std::string NameNodes(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  std::string names;
  for (ir::NodeId node : nodes)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", ir::Describe(graph.node(node)));
  return names;
}

/// The kernels that compute one of `nodes`, in the catalogue's order.
std::string NameKernels(const Catalogue& catalogue, const std::vector<ir::NodeId>& nodes) {
  std::string names;
  std::set<std::string_view> seen;
  for (const Instance& instance : catalogue.instances) {
    if (std::find_first_of(instance.nodes.begin(), instance.nodes.end(), nodes.begin(),
                           nodes.end()) == instance.nodes.end())
      continue;
    for (const Entry& entry : catalogue.kinds[instance.kind].entries)
      if (seen.insert(entry.kernel->name).second)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.kernel->name);
  }
  return names;
}

}  // namespace

std::vector<Staying> ListStaying(const ir::Graph& graph, const Catalogue& catalogue,
                                 const Prices& prices, const Decision& preferred, int threads) {
  const std::vector<bool> covered = Covered(graph, catalogue, prices);
  std::vector<Staying> staying;
  for (const GroupDecision& group : preferred.groups) {
    std::vector<ir::NodeId> left;
    std::ranges::copy_if(group.nodes, std::back_inserter(left),
                         [&](ir::NodeId node) { return !covered[node]; });
    if (left.empty()) continue;
    for (const Instance& instance : catalogue.instances) {
      if (instance.nodes != group.nodes) continue;
      const int entry = FindEntry(catalogue.kinds[instance.kind], group, threads);
      if (entry < 0) continue;
      staying.push_back(
          {instance.kind, entry,
           fmt::format("{}: no kernel passed its checks ({}): {} of the default plan "
                       "stays",
                       NameNodes(graph, group.nodes), NameKernels(catalogue, left), group.kernel)});
    }
  }
  return staying;
}

}  // namespace fettle::planner
