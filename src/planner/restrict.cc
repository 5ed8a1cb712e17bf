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
    const int want = wanted[static_cast<size_t>(tensors[i])];
    if (want >= 0 && states[i] != want) return false;
  }
  return true;
}

}  // namespace

Status RestrictToLayout(std::string_view name, Extracted& extracted) {
  const std::vector<int> wanted = StatesIn(name, extracted);
  if (std::all_of(wanted.begin(), wanted.end(), [](int state) { return state < 0; }))
    return InvalidArgument("layout '{}': no tensor of this model can have it", name);
  for (size_t g = 0; g < extracted.problem.groups.size(); ++g) {
    solver::Group& group = extracted.problem.groups[g];
    std::vector<solver::Choice> kept;
    std::vector<int> entries;
    for (size_t c = 0; c < group.choices.size(); ++c) {
      const solver::Choice& choice = group.choices[c];
      if (!Keeps(group.inputs, choice.inputs, wanted) ||
          !Keeps(group.outputs, choice.outputs, wanted)) {
        continue;
      }
      kept.push_back(choice);
      entries.push_back(extracted.entries[g][c]);
    }
    // A group of several nodes may go where its nodes alone can keep to the layout.
    if (kept.empty() && group.nodes.size() == 1) continue;
    group.choices = std::move(kept);
    extracted.entries[g] = std::move(entries);
  }
  return OkStatus();
}

}  // namespace fettle::planner
