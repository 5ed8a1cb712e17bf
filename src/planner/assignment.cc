#include "planner/assignment.h"

#include <algorithm>
#include <queue>
#include <span>

#include "planner/fewer_conversions.h"
#include "planner/same_bytes.h"
#include "planner/small_steps.h"

namespace fettle::planner {
namespace {

/// Chooses group by group, remembering in which states each value exists.
class Assigner {
 public:
  Assigner(const ir::Graph& graph, const Cover& cover)
      : graph_(graph), states_of_(graph.values().size()), readers_(graph.values().size()) {
    for (ir::ValueId id : graph.inputs)
      states_of_[id].push_back({.storage = graph.value(id).dtype, .external = true});
    for (const GroupChoices& group : cover)
      for (ir::ValueId id : group.fragment.inputs) readers_[id].push_back(&group);
  }

  const Choice& Choose(const GroupChoices& group) {
    const Choice& choice = Cheapest(group);
    for (size_t i = 0; i < group.fragment.inputs.size(); ++i)
      Remember(group.fragment.inputs[i], choice.states().inputs[i]);
    for (size_t i = 0; i < group.fragment.outputs.size(); ++i)
      Remember(group.fragment.outputs[i], choice.states().outputs[i]);
    return choice;
  }

 private:
  void Remember(ir::ValueId id, const State& state) {
    std::vector<State>& states = states_of_[id];
    if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
  }

  static int64_t BytesBetween(const Shape& shape, const State& from, const State& to) {
    if (from == to || SameBytes(shape, from, to)) return 0;
    return StateBytes(shape, from) + StateBytes(shape, to);
  }

  /// Bytes that a conversion of `id` to `state` would move, over the states it exists in.
  int64_t ConversionBytes(ir::ValueId id, const State& state) const {
    int64_t best = INT64_MAX;
    for (const State& existing : states_of_[id])
      best = std::min(best, BytesBetween(*graph_.value(id).shape, existing, state));
    return best;
  }

  /// Bytes that are converted where `reader` is computed by `choice` and reads `id` in `state`, as
  /// far as its operands exist.
  int64_t BytesOfReader(const GroupChoices& reader, const Choice& choice, ir::ValueId id,
                        const State& state) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < reader.fragment.inputs.size(); ++i) {
      const ir::ValueId input = reader.fragment.inputs[i];
      const State& wanted = choice.states().inputs[i];
      if (input == id) {
        bytes += BytesBetween(*graph_.value(id).shape, state, wanted);
      } else if (!states_of_[input].empty()) {
        bytes += ConversionBytes(input, wanted);
      }
    }
    return bytes;
  }

  /// What a result in `state` costs those that read it: kernels may differ in layouts alone, and a
  /// Transpose beside the CPU may be the conversion to the layout that they want.
  int64_t BytesAhead(ir::ValueId id, const State& state) const {
    int64_t bytes = Leaves(id) && !state.layout.IsRowMajor()
                        ? 2 * StateBytes(*graph_.value(id).shape, state)
                        : 0;
    for (const GroupChoices* reader : readers_[id]) {
      if (reader->choices.empty()) continue;
      const Choice& first = reader->choices[0];
      int64_t least = INT64_MAX;
      for (const Choice& choice : reader->choices)
        if (choice.taste == first.taste && choice.kernel->device() == first.kernel->device())
          least = std::min(least, BytesOfReader(*reader, choice, id, state));
      bytes += least;
    }
    return bytes;
  }

  int64_t BytesOf(const GroupChoices& group, const Choice& choice) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < group.fragment.inputs.size(); ++i)
      bytes += ConversionBytes(group.fragment.inputs[i], choice.states().inputs[i]);
    const ir::Graph& graph = *group.fragment.graph;
    const bool is_transpose = graph.nodes().size() == 1 && graph.nodes()[0].op == "Transpose"_op;
    const bool is_on_cpu = choice.kernel->device() == DeviceKind::kCpu;
    const bool is_border = is_transpose && is_on_cpu && IsBorder(group.fragment);
    // What copies the caller's values, and for the caller, is priced beside views, which copy none.
    if (is_border && !choice.match->is_view(choice.states_index))
      bytes += 2 * StateBytes(*graph.value(graph.outputs[0]).shape, choice.states().outputs[0]);
    if (!is_border && (!is_transpose || is_on_cpu) && !group.differ_in_layouts) return bytes;
    return bytes + BytesAhead(group.fragment.outputs[0], choice.states().outputs[0]);
  }

  bool Leaves(ir::ValueId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  /// Whether a group reads a value of the caller's, or makes a result of the network.
  bool IsBorder(const passes::Fragment& group) const {
    const auto& given = graph_.inputs;
    return Leaves(group.outputs[0]) ||
           std::find(given.begin(), given.end(), group.inputs[0]) != given.end();
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
      const int64_t bytes = BytesOf(group, choice);
      if (best == nullptr || bytes < best_bytes) {
        best = &choice;
        best_bytes = bytes;
      }
    }
    return *best;
  }

  const ir::Graph& graph_;
  IdVector<ir::ValueId, std::vector<State>> states_of_;
  IdVector<ir::ValueId, std::vector<const GroupChoices*>> readers_;
};

GroupDecision DecisionOf(const GroupChoices& group, const Choice& choice, int threads) {
  const int worth = ThreadsWorthWaking(choice, group.fragment.graph, threads);
  return {.nodes = group.nodes,
          .kernel = std::string(choice.kernel->name),
          .version = choice.kernel->version,
          .states = choice.states(),
          .threads = worth == threads ? 0 : worth};
}

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
  Assigner assigner(graph, cover);
  std::vector<const Choice*> chosen(cover.size());
  for (size_t g : order) chosen[g] = &assigner.Choose(cover[g]);
  TakeFewerConversions(graph, cover, order, chosen);
  Decision decision;
  for (size_t g : order) decision.groups.push_back(DecisionOf(cover[g], *chosen[g], threads));
  return decision;
}

}  // namespace fettle::planner
