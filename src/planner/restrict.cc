#include "planner/restrict.h"

#include <algorithm>

namespace fettle::planner {
namespace {

/// The state of tensor `t` in the layout, or -1.
std::vector<int> StatesIn(std::string_view layout, const Extracted& extracted) {
  std::vector<int> states;
  for (const solver::Tensor& tensor : extracted.problem.tensors) {
    const auto found =
        std::find_if(tensor.states.begin(), tensor.states.end(), [&](const std::string& name) {
          return name.find(fmt::format(":{}:", layout)) != std::string::npos &&
                 !name.ends_with(":external");
        });
    states.push_back(
        found == tensor.states.end() ? -1 : static_cast<int>(found - tensor.states.begin()));
  }
  return states;
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

/// Leaves group `g` the choices that keep to the layout.
void DropOthers(const std::vector<int>& wanted, Extracted& extracted, size_t g) {
  solver::Group& group = extracted.problem.groups[g];
  size_t kept = 0;
  for (size_t c = 0; c < group.choices.size(); ++c) {
    if (!Keeps(group, group.choices[c], wanted)) continue;
    std::swap(group.choices[kept], group.choices[c]);
    extracted.entries[g][kept] = extracted.entries[g][c];
    extracted.measured[g][kept] = extracted.measured[g][c];
    ++kept;
  }
  // Without its nodes alone, what overlapping groups leave over could not be computed.
  if (kept == 0 && group.nodes.size() == 1) return;
  group.choices.resize(kept);
  extracted.entries[g].resize(kept);
  extracted.measured[g].resize(kept);
}

}  // namespace

Status RestrictToLayout(std::string_view name, Extracted& extracted) {
  // The same layout may have another name in the states.
  const std::optional<Layout> named = LayoutFromName(name, 4);
  const std::string layout = named ? LayoutName(*named, 4) : std::string(name);
  const std::vector<int> wanted = StatesIn(layout, extracted);
  if (std::all_of(wanted.begin(), wanted.end(), [](int state) { return state < 0; }))
    return InvalidArgument("layout '{}': no tensor of this model can have it", name);
  const std::vector<bool> free = NodesThatCannotKeep(extracted.problem, wanted);
  for (size_t g = 0; g < extracted.problem.groups.size(); ++g) {
    const std::vector<int>& nodes = extracted.problem.groups[g].nodes;
    const bool keeps_all =
        std::any_of(nodes.begin(), nodes.end(), [&](int node) { return free[node]; });
    if (!keeps_all) DropOthers(wanted, extracted, g);
  }
  return OkStatus();
}

}  // namespace fettle::planner
