#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "solver/problem/problem.h"

namespace fettle::solver {
namespace {

/// All sizes of a problem together stay below this, so that no sum of them overflows.
constexpr int64_t kMostBytes = int64_t{1} << 62;

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

template <typename T>
bool InRange(int index, const std::vector<T>& items) {
  return index >= 0 && index < std::ssize(items);
}

/// Takes `bytes` from what is left of kMostBytes.
bool Spend(int64_t bytes, int64_t& left) {
  if (bytes < 0 || bytes > left) return false;
  left -= bytes;
  return true;
}

Status ValidateConversions(const Tensor& tensor) {
  std::set<std::pair<int, int>> seen;
  for (size_t i = 0; i < tensor.conversions.size(); ++i) {
    const Conversion& conversion = tensor.conversions[i];
    if (!InRange(conversion.from, tensor.states) || !InRange(conversion.to, tensor.states)) {
      return InvalidArgument("conversion {}: no such state", i);
    }
    if (conversion.from == conversion.to) {
      return InvalidArgument("conversion {}: from a state to itself", i);
    }
    if (!IsAmount(conversion.cost) || !IsAmount(conversion.error)) {
      return InvalidArgument("conversion {}: cost and error must be finite and not negative", i);
    }
    if (!seen.insert({conversion.from, conversion.to}).second) {
      return InvalidArgument("conversion {}: its pair of states has one already", i);
    }
  }
  return OkStatus();
}

Status ValidateTensor(const Tensor& tensor, int64_t& bytes_left) {
  if (tensor.states.empty()) return InvalidArgument("no state");
  if (std::set<std::string>(tensor.states.begin(), tensor.states.end()).size() !=
      tensor.states.size()) {
    return InvalidArgument("two states have one name");
  }
  if (!tensor.bytes.empty() && tensor.bytes.size() != tensor.states.size()) {
    return InvalidArgument("{} sizes for {} states", tensor.bytes.size(), tensor.states.size());
  }
  for (const int64_t bytes : tensor.bytes) {
    if (!Spend(bytes, bytes_left)) return InvalidArgument("size {} is out of range", bytes);
  }
  for (const std::vector<int>* states : {&tensor.given, &tensor.wanted}) {
    for (const int state : *states) {
      if (!InRange(state, tensor.states)) return InvalidArgument("no state {}", state);
    }
    if (std::set<int>(states->begin(), states->end()).size() != states->size()) {
      return InvalidArgument("a state is given or wanted twice");
    }
  }
  if (tensor.wanted_in_any && !tensor.wanted.empty()) {
    return InvalidArgument("wanted both in listed states and in any state");
  }
  return ValidateConversions(tensor);
}

Status ValidateStates(const Problem& problem, const std::vector<int>& tensors,
                      const std::vector<int>& states, std::string_view role) {
  if (states.size() != tensors.size()) {
    return InvalidArgument("{} states for {} {}", states.size(), tensors.size(), role);
  }
  for (size_t i = 0; i < states.size(); ++i) {
    if (!InRange(states[i], problem.tensors[tensors[i]].states)) {
      return InvalidArgument("{} {}: no state {}", role, i, states[i]);
    }
  }
  return OkStatus();
}

Status ValidateChoice(const Problem& problem, const Group& group, const Choice& choice,
                      int64_t& bytes_left) {
  RETURN_IF_ERROR(ValidateStates(problem, group.inputs, choice.inputs, "inputs"));
  RETURN_IF_ERROR(ValidateStates(problem, group.outputs, choice.outputs, "outputs"));
  if (!IsAmount(choice.cost) || !IsAmount(choice.error)) {
    return InvalidArgument("cost and error must be finite and not negative");
  }
  if (!Spend(choice.workspace, bytes_left)) {
    return InvalidArgument("workspace {} is out of range", choice.workspace);
  }
  return OkStatus();
}

Status ValidateGroup(const Problem& problem, const Group& group, int64_t& bytes_left) {
  if (group.nodes.empty()) return InvalidArgument("no node");
  for (const int node : group.nodes) {
    if (node < 0 || node >= problem.nodes) return InvalidArgument("no node {}", node);
  }
  if (std::set<int>(group.nodes.begin(), group.nodes.end()).size() != group.nodes.size()) {
    return InvalidArgument("a node is listed twice");
  }
  for (const std::vector<int>* tensors : {&group.inputs, &group.outputs}) {
    for (const int tensor : *tensors) {
      if (!InRange(tensor, problem.tensors)) return InvalidArgument("no tensor {}", tensor);
    }
  }
  std::set<int> written;
  for (const int tensor : group.outputs) {
    if (!written.insert(tensor).second) return InvalidArgument("writes tensor {} twice", tensor);
    if (!problem.tensors[tensor].given.empty()) {
      return InvalidArgument("writes tensor {}, which is given", tensor);
    }
  }
  for (const int tensor : group.inputs) {
    if (written.count(tensor) > 0) {
      return InvalidArgument("reads tensor {}, which it writes", tensor);
    }
  }
  for (size_t c = 0; c < group.choices.size(); ++c) {
    const Status status = ValidateChoice(problem, group, group.choices[c], bytes_left);
    if (!status.ok()) return status.WithContext(fmt::format("choice {}", c));
  }
  return OkStatus();
}

/// A tensor is made by one node, which is in every group that writes it. So a cover writes it at
/// most once.
Status ValidateMakers(const Problem& problem) {
  std::map<int, std::vector<int>> makers;  // by tensor: nodes that all its groups share, ascending
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    std::vector<int> nodes = problem.groups[g].nodes;
    std::sort(nodes.begin(), nodes.end());
    for (const int tensor : problem.groups[g].outputs) {
      const auto [it, is_new] = makers.emplace(tensor, nodes);
      if (is_new) continue;
      std::vector<int> both;
      std::set_intersection(it->second.begin(), it->second.end(), nodes.begin(), nodes.end(),
                            std::back_inserter(both));
      it->second = std::move(both);
      if (it->second.empty()) {
        return InvalidArgument("group {} '{}': no node is in all groups that write tensor {}", g,
                               problem.groups[g].name, tensor);
      }
    }
  }
  return OkStatus();
}

Status ValidateCoverage(const Problem& problem) {
  std::set<int> covered;
  for (const Group& group : problem.groups) {
    if (!group.choices.empty()) covered.insert(group.nodes.begin(), group.nodes.end());
  }
  int next = 0;
  for (const int node : covered) {
    if (node != next) break;
    ++next;
  }
  if (next < problem.nodes) {
    return InvalidArgument("node {}: no group with a choice holds it", next);
  }
  return OkStatus();
}

}  // namespace

Status Validate(const Problem& problem) {
  if (problem.nodes < 0) return InvalidArgument("{} nodes", problem.nodes);
  if (std::isnan(problem.error_budget)) return InvalidArgument("error budget is not a number");
  int64_t bytes_left = kMostBytes;
  for (size_t t = 0; t < problem.tensors.size(); ++t) {
    const Status status = ValidateTensor(problem.tensors[t], bytes_left);
    if (!status.ok()) {
      return status.WithContext(fmt::format("tensor {} '{}'", t, problem.tensors[t].name));
    }
  }
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    const Status status = ValidateGroup(problem, problem.groups[g], bytes_left);
    if (!status.ok()) {
      return status.WithContext(fmt::format("group {} '{}'", g, problem.groups[g].name));
    }
  }
  RETURN_IF_ERROR(ValidateMakers(problem));
  return ValidateCoverage(problem);
}

}  // namespace fettle::solver
