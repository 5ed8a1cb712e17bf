#include "solver/encode/complete.h"

#include <algorithm>
#include <set>

#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

constexpr int kAbsent = -1;

/// What picked groups make of a tensor and need of it.
struct Service {
  std::set<int> needed;
  int root = kAbsent;  // for ConversionCosts::Tree
  int step = 0;        // at which the tensor is written
};

std::vector<Service> BeforeAnyGroup(const Problem& problem) {
  std::vector<Service> services;
  for (const Tensor& tensor : problem.tensors) {
    const int given = static_cast<int>(tensor.states.size());
    services.push_back({.needed = {tensor.wanted.begin(), tensor.wanted.end()},
                        .root = tensor.given.empty() ? kAbsent : given});
  }
  return services;
}

void AddGroup(const Group& group, const Choice& choice, std::vector<Service>& services) {
  for (size_t i = 0; i < group.inputs.size(); ++i)
    services[group.inputs[i]].needed.insert(choice.inputs[i]);
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    Service& service = services[group.outputs[i]];
    service.root = choice.outputs[i];
    service.step = StepOf(group);
  }
}

/// Conversions of a tensor that make all that is needed.
Result<std::vector<int>> Convert(const Tensor& tensor, size_t index, const Service& service,
                                 const Prices& prices) {
  const std::set<int>& needed = service.needed;
  if (needed.empty() && !tensor.wanted_in_any) return std::vector<int>();
  if (service.root == kAbsent)
    return Unsupported("tensor {} '{}' is needed but nothing makes it", index, tensor.name);
  if (needed.size() > kMostTerminals) {
    return Unsupported("tensor {} '{}' is needed in more than {} states", index, tensor.name,
                       kMostTerminals);
  }
  ConversionCosts costs(tensor, {needed.begin(), needed.end()}, prices, service.step);
  const StateSet all = (StateSet{1} << needed.size()) - 1;
  if (costs.Tree(service.root, all) == kForbidden) {
    return Unsupported("tensor {} '{}' cannot be converted to a state that is needed", index,
                       tensor.name);
  }
  return costs.TreeConversions(service.root, all);
}

}  // namespace

Result<Solution> Complete(const Problem& problem, std::vector<Pick> picks, const Prices& prices) {
  const auto group_of = [&](const Pick& pick) -> const Group& {
    return problem.groups[pick.group];
  };
  const auto first_node = [&](const Pick& pick) {
    return *std::min_element(group_of(pick).nodes.begin(), group_of(pick).nodes.end());
  };
  std::sort(picks.begin(), picks.end(),
            [&](const Pick& a, const Pick& b) { return first_node(a) < first_node(b); });
  Solution solution;
  std::vector<Service> services = BeforeAnyGroup(problem);
  for (const Pick& pick : picks) {
    const Choice& choice = group_of(pick).choices[pick.choice];
    solution.cost += choice.cost;
    solution.error += choice.error;
    AddGroup(group_of(pick), choice, services);
  }
  for (size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[t];
    ASSIGN_OR_RETURN(const std::vector<int> made, Convert(tensor, t, services[t], prices));
    for (const int c : made) {
      solution.conversions.push_back({static_cast<int>(t), c});
      solution.cost += tensor.conversions[c].cost;
      solution.error += tensor.conversions[c].error;
    }
  }
  solution.picks = std::move(picks);
  return solution;
}

}  // namespace fettle::solver
