#include "planner/assignment.h"

#include <algorithm>
#include <queue>

namespace fettle::planner {
namespace {

/// The axes of more than one element, in physical order, where nothing is blocked or pitched: two
/// layouts with equal orders name the same bytes.
std::optional<std::vector<int>> PhysicalOrder(const Shape& shape, const Layout& layout) {
  if (!layout.blocks.empty() || !layout.IsDense()) return std::nullopt;
  std::vector<int> order;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    if (shape[axis] != 1) order.push_back(axis);
  }
  return order;
}

bool SameBytes(const Shape& shape, const State& a, const State& b) {
  if (a.device != b.device || a.memory != b.memory || a.storage != b.storage || a.external ||
      b.external) {
    return false;
  }
  const auto order = PhysicalOrder(shape, a.layout);
  return order.has_value() && order == PhysicalOrder(shape, b.layout);
}

/// Builds the plan step by step, remembering in which states each value exists.
class Assembler {
 public:
  Assembler(const ir::Graph& graph, const Device& device, const Limits& limits)
      : graph_(graph), device_(device), limits_(limits), tensors_of_(graph.values().size()) {}

  void AddInputs() {
    for (ir::ValueId id : graph_.inputs) {
      const State state{.storage = graph_.value(id).dtype, .external = true};
      plan_.inputs.push_back(AddTensor(id, state));
    }
  }

  void AddGroup(const GroupChoices& group) {
    const Choice& choice = Cheapest(group);
    exec::PlannedStep step;
    step.kernel = choice.kernel;
    step.problem = {group.fragment.graph, choice.states, limits_.threads};
    step.params = kernels::DefaultParams(*choice.kernel, step.problem, device_);
    for (size_t i = 0; i < group.fragment.inputs.size(); ++i) {
      step.inputs.push_back(Obtain(group.fragment.inputs[i], choice.states.inputs[i]));
    }
    for (size_t i = 0; i < group.fragment.outputs.size(); ++i) {
      step.outputs.push_back(AddTensor(group.fragment.outputs[i], choice.states.outputs[i]));
    }
    plan_.steps.push_back(std::move(step));
  }

  exec::Plan Finish() {
    for (ir::ValueId id : graph_.outputs) {
      const ir::Value& value = graph_.value(id);
      plan_.outputs.push_back(value.is_constant() ? -1 : Obtain(id, {.storage = value.dtype}));
    }
    return std::move(plan_);
  }

 private:
  int AddTensor(ir::ValueId id, const State& state, int same_bytes_as = -1) {
    const auto tensor = static_cast<int>(plan_.tensors.size());
    plan_.tensors.push_back({graph_.value(id).name, *graph_.value(id).shape, state, same_bytes_as});
    tensors_of_[static_cast<size_t>(id)].push_back(tensor);
    return tensor;
  }

  /// Bytes that a conversion of `id` to `state` would move, over the states it exists in.
  int64_t ConversionBytes(ir::ValueId id, const State& state) const {
    int64_t best = INT64_MAX;
    for (int tensor : tensors_of_[static_cast<size_t>(id)]) {
      const exec::PlannedTensor& existing = plan_.tensors[static_cast<size_t>(tensor)];
      if (existing.state == state || SameBytes(existing.shape, existing.state, state)) return 0;
      best = std::min(
          best, StateBytes(existing.shape, existing.state) + StateBytes(existing.shape, state));
    }
    return best;
  }

  const Choice& Cheapest(const GroupChoices& group) const {
    const int preference = group.choices[0].kernel->preference;
    const Choice* best = nullptr;
    int64_t best_bytes = INT64_MAX;
    for (const Choice& choice : group.choices) {
      if (choice.kernel->preference != preference) break;
      int64_t bytes = 0;
      for (size_t i = 0; i < group.fragment.inputs.size(); ++i) {
        bytes += ConversionBytes(group.fragment.inputs[i], choice.states.inputs[i]);
      }
      if (best == nullptr || bytes < best_bytes) {
        best = &choice;
        best_bytes = bytes;
      }
    }
    return *best;
  }

  /// The tensor that holds `id` in `state`, converted from the state it was produced in if need be.
  int Obtain(ir::ValueId id, const State& state) {
    const std::vector<int>& existing = tensors_of_[static_cast<size_t>(id)];
    FETTLE_CHECK(!existing.empty(), "a value is read before it is planned");
    for (int tensor : existing) {
      if (plan_.tensors[static_cast<size_t>(tensor)].state == state) return tensor;
    }
    for (int tensor : existing) {
      const exec::PlannedTensor& from = plan_.tensors[static_cast<size_t>(tensor)];
      if (SameBytes(from.shape, from.state, state)) return AddTensor(id, state, tensor);
    }
    exec::PlannedStep conversion;
    conversion.inputs.push_back(existing[0]);
    conversion.outputs.push_back(AddTensor(id, state));
    const int converted = conversion.outputs[0];
    plan_.steps.push_back(std::move(conversion));
    return converted;
  }

  const ir::Graph& graph_;
  const Device& device_;
  const Limits& limits_;
  exec::Plan plan_;
  std::vector<std::vector<int>> tensors_of_;
};

}  // namespace

Result<std::vector<size_t>> ScheduleCover(const ir::Graph& graph, const Cover& cover) {
  std::vector<int> producer(graph.values().size(), -1);
  for (size_t g = 0; g < cover.size(); ++g) {
    for (ir::ValueId id : cover[g].fragment.outputs)
      producer[static_cast<size_t>(id)] = static_cast<int>(g);
  }
  std::vector<int> pending(cover.size());
  std::vector<std::vector<size_t>> followers(cover.size());
  for (size_t g = 0; g < cover.size(); ++g) {
    for (ir::ValueId id : cover[g].fragment.inputs) {
      const int before = producer[static_cast<size_t>(id)];
      if (before < 0) continue;
      ++pending[g];
      followers[static_cast<size_t>(before)].push_back(g);
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

Result<exec::Plan> AssignStates(const ir::Graph& graph, const Cover& cover,
                                const std::vector<size_t>& order, const Device& device,
                                const Limits& limits) {
  Assembler assembler(graph, device, limits);
  assembler.AddInputs();
  for (size_t g : order) assembler.AddGroup(cover[g]);
  return assembler.Finish();
}

}  // namespace fettle::planner
