#include "planner/assignment.h"

#include <algorithm>
#include <queue>
#include <span>

#include "planner/same_bytes.h"
#include "planner/small_steps.h"

namespace fettle::planner {
namespace {

/// Chooses group by group, remembering in which states each value exists.
class Assigner {
 public:
  Assigner(const ir::Graph& graph, int threads)
      : graph_(graph), threads_(threads), states_of_(graph.values().size()) {
    for (ir::ValueId id : graph.inputs)
      states_of_[id].push_back({.storage = graph.value(id).dtype, .external = true});
  }

  GroupDecision Add(const GroupChoices& group) {
    const Choice& choice = Cheapest(group);
    for (size_t i = 0; i < group.fragment.inputs.size(); ++i)
      Remember(group.fragment.inputs[i], choice.states().inputs[i]);
    for (size_t i = 0; i < group.fragment.outputs.size(); ++i)
      Remember(group.fragment.outputs[i], choice.states().outputs[i]);
    const int threads = ThreadsWorthWaking(choice, group.fragment.graph, threads_);
    return {.nodes = group.nodes,
            .kernel = std::string(choice.kernel->name),
            .version = choice.kernel->version,
            .states = choice.states(),
            .threads = threads == threads_ ? 0 : threads};
  }

 private:
  void Remember(ir::ValueId id, const State& state) {
    std::vector<State>& states = states_of_[id];
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  }

  /// Bytes that a conversion of `id` to `state` would move, over the states it exists in.
  int64_t ConversionBytes(ir::ValueId id, const State& state) const {
    const Shape& shape = *graph_.value(id).shape;
    int64_t best = INT64_MAX;
    for (const State& existing : states_of_[id]) {
      if (existing == state || SameBytes(shape, existing, state)) return 0;
      best = std::min(best, StateBytes(shape, existing) + StateBytes(shape, state));
    }
    return best;
  }

  /// Whether `choice` is for values of the caller's where there are computed ones.
  bool WantsCallers(const GroupChoices& group, const Choice& choice) const {
    for (size_t i = 0; i < group.fragment.inputs.size(); ++i) {
      const std::vector<State>& states = states_of_[group.fragment.inputs[i]];
      if (choice.states().inputs[i].external && !states.empty() && !states[0].external) return true;
    }
    return false;
  }

  const Choice& Cheapest(const GroupChoices& group) const {
    const auto fits = [&](const Choice& choice) { return !WantsCallers(group, choice); };
    const auto fitting = std::find_if(group.choices.begin(), group.choices.end(), fits);
    const Choice& first = fitting == group.choices.end() ? group.choices[0] : *fitting;
    const Choice* best = nullptr;
    int64_t best_bytes = INT64_MAX;
    for (const Choice& choice : std::span(&first, &group.choices.back() + 1)) {
      if (choice.taste != first.taste || choice.kernel->device() != first.kernel->device()) break;
      if (&choice != &first && !fits(choice)) continue;
      int64_t bytes = 0;
      for (size_t i = 0; i < group.fragment.inputs.size(); ++i) {
        bytes += ConversionBytes(group.fragment.inputs[i], choice.states().inputs[i]);
      }
      if (best == nullptr || bytes < best_bytes) {
        best = &choice;
        best_bytes = bytes;
      }
    }
    return *best;
  }

  const ir::Graph& graph_;
  int threads_;
  std::vector<std::vector<State>> states_of_;
};

}  // namespace

Result<std::vector<size_t>> ScheduleCover(const ir::Graph& graph, const Cover& cover) {
  IdVector<ir::ValueId, int> producer(graph.values().size(), -1);
  for (size_t g = 0; g < cover.size(); ++g) {
    for (ir::ValueId id : cover[g].fragment.outputs) producer[id] = static_cast<int>(g);
  }
  std::vector<int> pending(cover.size());
  std::vector<std::vector<size_t>> followers(cover.size());
  for (size_t g = 0; g < cover.size(); ++g) {
    for (ir::ValueId id : cover[g].fragment.inputs) {
      const int before = producer[id];
      if (before < 0) continue;
      ++pending[g];
      followers[before].push_back(g);
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t g = 0; g < cover.size(); ++g) {
    if (pending[g] == 0) ready.push(g);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (size_t follower : followers[order.back()]) {
      if (--pending[follower] == 0) ready.push(follower);
    }
  }
  if (order.size() != cover.size())
    return Error(StatusCode::kInternal, "the groups of a cover depend on each other");
  return order;
}

Decision AssignStates(const ir::Graph& graph, const Cover& cover, const std::vector<size_t>& order,
                      int threads) {
  Assigner assigner(graph, threads);
  Decision decision;
  for (size_t g : order) decision.groups.push_back(assigner.Add(cover[g]));
  return decision;
}

}  // namespace fettle::planner
