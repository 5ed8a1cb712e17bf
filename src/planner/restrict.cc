#include "planner/restrict.h"

#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "planner/same_bytes.h"

namespace fettle::planner {
namespace {

/// Whether the state is in layout `name`, or lies in memory as one that is: 16 channels in one
/// block of NCHW16c are NHWC, and states that name the same bytes are one.
bool IsIn(std::string_view name, const Shape& shape, const State& state) {
  if (state.external) return false;
  if (LayoutName(state.layout, shape.rank()) == name) return true;
  const std::optional<Layout> layout = LayoutFromName(name, shape.rank());
  if (!layout) return false;
  State other = state;
  other.layout = *layout;
  return SameBytes(shape, state, other);
}

/// By tensor: its state in the layout, or -1.
std::vector<int> StatesIn(std::string_view layout, const ir::Graph& graph,
                          const Extracted& extracted) {
  std::vector<int> wanted;
  for (size_t t = 0; t < extracted.states.size(); ++t) {
    const std::vector<State>& states = extracted.states[t];
    const Shape& shape = *graph.value(extracted.values[t]).shape;
    const auto found = std::find_if(states.begin(), states.end(),
                                    [&](const State& state) { return IsIn(layout, shape, state); });
    wanted.push_back(found == states.end() ? -1 : static_cast<int>(found - states.begin()));
  }
  return wanted;
}

/// The layouts that tensors may have, each once.
std::vector<std::string> LayoutsOf(const ir::Graph& graph, const Extracted& extracted) {
  std::vector<std::string> names;
  for (size_t t = 0; t < extracted.states.size(); ++t) {
    for (const State& state : extracted.states[t]) {
      std::string name = LayoutName(state.layout, graph.value(extracted.values[t]).shape->rank());
      if (!state.external && std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
    }
  }
  return names;
}

bool Keeps(const std::vector<int>& tensors, const std::vector<int>& states,
           const std::vector<int>& wanted) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int want = wanted[tensors[i]];
    if (want >= 0 && states[i] != want) return false;
  }
  return true;
}

bool Keeps(const solver::Group& group, const solver::Choice& choice,
           const std::vector<int>& wanted) {
  return Keeps(group.inputs, choice.inputs, wanted) && Keeps(group.outputs, choice.outputs, wanted);
}

/// By node: no group that holds it has a choice that keeps to the layout.
std::vector<bool> NodesThatCannotKeep(const solver::Problem& problem,
                                      const std::vector<int>& wanted) {
  std::vector<bool> cannot(problem.nodes, true);
  for (const solver::Group& group : problem.groups) {
    const bool can =
        std::any_of(group.choices.begin(), group.choices.end(),
                    [&](const solver::Choice& choice) { return Keeps(group, choice, wanted); });
    if (!can) continue;
    for (const int node : group.nodes) cannot[node] = false;
  }
  return cannot;
}

/// Leaves group `g` the choices that `keeps`; all where it has none and is needed.
template <typename Keeps>
void DropOthers(Extracted& extracted, size_t g, bool is_needed, const Keeps& keeps) {
  solver::Group& group = extracted.problem.groups[g];
  size_t kept = 0;
  for (size_t c = 0; c < group.choices.size(); ++c) {
    if (!keeps(c)) continue;
    std::swap(group.choices[kept], group.choices[c]);
    std::swap(extracted.entries[g][kept], extracted.entries[g][c]);
    const bool measured = extracted.measured[g][kept];
    extracted.measured[g][kept] = extracted.measured[g][c];
    extracted.measured[g][c] = measured;
    std::swap(extracted.proposals[g][kept], extracted.proposals[g][c]);
    ++kept;
  }
  if (kept == 0 && is_needed) return;
  group.choices.resize(kept);
  extracted.entries[g].resize(kept);
  extracted.measured[g].resize(kept);
  extracted.proposals[g].resize(kept);
}

/// How far an entry is what `group` says of a session of `threads`; 0: another kernel.
int Likeness(const Entry& entry, const GroupDecision& group, int threads) {
  if (entry.kernel->name != group.kernel) return 0;
  const bool same_threads = entry.threads == (group.threads == 0 ? threads : group.threads);
  return 1 + (entry.states == group.states ? 2 : 0) + (same_threads ? 1 : 0);
}

}  // namespace

Status RestrictToLayout(std::string_view name, const ir::Graph& graph, Extracted& extracted) {
  // The same layout may have another name in the states.
  const std::optional<Layout> named = LayoutFromName(name, 4);
  const std::string layout = named ? LayoutName(*named, 4) : std::string(name);
  const std::vector<int> wanted = StatesIn(layout, graph, extracted);
  if (std::all_of(wanted.begin(), wanted.end(), [](int state) { return state < 0; }))
    return InvalidArgument("layout '{}': no tensor of this model can have it; there are {}", name,
                           NearestNames(name, LayoutsOf(graph, extracted)));
  const std::vector<bool> free = NodesThatCannotKeep(extracted.problem, wanted);
  for (size_t g = 0; g < extracted.problem.groups.size(); ++g) {
    const std::vector<int>& nodes = extracted.problem.groups[g].nodes;
    const bool keeps_all =
        std::any_of(nodes.begin(), nodes.end(), [&](int node) { return free[node]; });
    if (keeps_all) continue;
    const solver::Group& group = extracted.problem.groups[g];
    // Without its nodes alone, what overlapping groups leave over could not be computed.
    DropOthers(extracted, g, nodes.size() == 1,
               [&](size_t c) { return Keeps(group, group.choices[c], wanted); });
  }
  return OkStatus();
}

void RestrictToDecision(const Decision& decision, const Catalogue& catalogue, int threads,
                        Extracted& extracted) {
  std::map<std::vector<ir::NodeId>, const GroupDecision*> decided;
  for (const GroupDecision& group : decision.groups) decided.emplace(group.nodes, &group);
  for (size_t g = 0; g < extracted.problem.groups.size(); ++g) {
    const Instance& instance = catalogue.instances[g];
    const auto found = decided.find(instance.nodes);
    const auto likeness = [&](size_t c) {
      if (found == decided.end()) return 0;
      const Kind& kind = catalogue.kinds[instance.kind];
      return Likeness(kind.entries[extracted.entries[g][c]], *found->second, threads);
    };
    int most = 1;
    for (size_t c = 0; c < extracted.entries[g].size(); ++c) most = std::max(most, likeness(c));
    DropOthers(extracted, g, found != decided.end(), [&](size_t c) { return likeness(c) == most; });
  }
}

}  // namespace fettle::planner
