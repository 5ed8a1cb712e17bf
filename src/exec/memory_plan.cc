#include "exec/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

int64_t AlignUp(int64_t bytes) {
  constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

/// Groups tensors that share bytes; a root owns the bytes, the others are windows of it.
class Sharing {
 public:
  Sharing(const Plan& plan, std::span<const std::vector<kernels::Alias>> aliases)
      : plan_(plan),
        root_(plan.tensors.size()),
        offset_(plan.tensors.size()),
        life_(plan.tensors.size()) {
    std::iota(root_.begin(), root_.end(), 0);
    MergeViews(aliases);
    MeasureLives();
    MergeInPlace(aliases);
  }

  int root(int tensor) const { return root_[static_cast<size_t>(tensor)]; }
  int64_t offset(int tensor) const { return offset_[static_cast<size_t>(tensor)]; }
  const Interval& life(int root_tensor) const { return life_[static_cast<size_t>(root_tensor)]; }
  bool IsInput(int root_tensor) const {
    return std::find(plan_.inputs.begin(), plan_.inputs.end(), root_tensor) != plan_.inputs.end();
  }
  bool IsOutput(int root_tensor) const {
    return std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                       [&](int output) { return output >= 0 && root(output) == root_tensor; });
  }

 private:
  void Attach(int tensor, int parent, int64_t byte_offset) {
    root_[static_cast<size_t>(tensor)] = root(parent);
    offset_[static_cast<size_t>(tensor)] = offset(parent) + byte_offset;
  }

  void MergeViews(std::span<const std::vector<kernels::Alias>> aliases) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlannedStep& step = plan_.steps[i];
      for (int input : step.inputs) MergeSameBytes(input);
      for (const kernels::Alias& alias : aliases[i]) {
        if (!alias.is_view) continue;
        Attach(step.outputs[static_cast<size_t>(alias.output)],
               step.inputs[static_cast<size_t>(alias.input)], alias.byte_offset);
      }
    }
    for (int output : plan_.outputs) {
      if (output >= 0) MergeSameBytes(output);
    }
  }

  void MergeSameBytes(int tensor) {
    const int other = plan_.tensors[static_cast<size_t>(tensor)].same_bytes_as;
    if (other >= 0) Attach(tensor, other, 0);
  }

  void MeasureLives() {
    for (Interval& life : life_) life = {0, static_cast<int>(plan_.steps.size()), -1};
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
      Interval& life = life_[static_cast<size_t>(root_[t])];
      const PlannedTensor& tensor = plan_.tensors[t];
      life.bytes = std::max(life.bytes, offset_[t] + StateBytes(tensor.shape, tensor.state));
    }
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto touch = [&](int tensor) {
        Interval& life = life_[static_cast<size_t>(root(tensor))];
        life.first = std::min(life.first, static_cast<int>(i));
        life.last = std::max(life.last, static_cast<int>(i));
      };
      for (int tensor : plan_.steps[i].inputs) touch(tensor);
      for (int tensor : plan_.steps[i].outputs) touch(tensor);
    }
    for (int output : plan_.outputs) {
      if (output >= 0)
        life_[static_cast<size_t>(root(output))].last = static_cast<int>(plan_.steps.size());
    }
  }

  void MergeInPlace(std::span<const std::vector<kernels::Alias>> aliases) {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlannedStep& step = plan_.steps[i];
      for (const kernels::Alias& alias : aliases[i]) {
        if (alias.is_view) continue;
        const int input = root(step.inputs[static_cast<size_t>(alias.input)]);
        const int output = step.outputs[static_cast<size_t>(alias.output)];
        if (CanReuse(static_cast<int>(i), step, alias, input, output)) Reuse(input, output);
      }
    }
  }

  bool CanReuse(int step_index, const PlannedStep& step, const kernels::Alias& alias, int input,
                int output) const {
    if (root(output) != output || input == output) return false;
    if (IsInput(input) || IsOutput(input) || IsOutput(output)) return false;
    if (offset(step.inputs[static_cast<size_t>(alias.input)]) != 0) return false;
    const Interval& from = life(input);
    // No other operand may still need the bytes that the output overwrites.
    const auto readers = std::count_if(step.inputs.begin(), step.inputs.end(),
                                       [&](int tensor) { return root(tensor) == input; });
    return from.last == step_index && readers == 1 && life(output).bytes <= from.bytes;
  }

  void Reuse(int input, int output) {
    life_[static_cast<size_t>(input)].last = std::max(life(input).last, life(output).last);
    for (size_t t = 0; t < root_.size(); ++t) {
      if (root_[t] == output) root_[t] = input;
    }
  }

  const Plan& plan_;
  std::vector<int> root_;
  std::vector<int64_t> offset_;
  std::vector<Interval> life_;
};

/// Decides for each root whether it is bound to a graph input or output; -1 means the arena.
struct Binding {
  std::vector<int> input, output;
};

Binding Bind(const Plan& plan, const Sharing& sharing, std::vector<int>& copied_outputs) {
  Binding binding{std::vector<int>(plan.tensors.size(), -1),
                  std::vector<int>(plan.tensors.size(), -1)};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    binding.input[static_cast<size_t>(plan.inputs[i])] = static_cast<int>(i);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i] < 0) continue;
    const auto root = static_cast<size_t>(sharing.root(plan.outputs[i]));
    const PlannedTensor& tensor = plan.tensors[static_cast<size_t>(plan.outputs[i])];
    const bool whole =
        sharing.offset(plan.outputs[i]) == 0 &&
        sharing.life(static_cast<int>(root)).bytes == StateBytes(tensor.shape, tensor.state);
    if (whole && binding.output[root] < 0 && binding.input[root] < 0) {
      binding.output[root] = static_cast<int>(i);
    } else {
      copied_outputs.push_back(static_cast<int>(i));
    }
  }
  return binding;
}

}  // namespace

ArenaPlan PlanArena(std::span<const Interval> intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    if (intervals[i].bytes == 0) continue;
    const int64_t size = AlignUp(intervals[i].bytes + static_cast<int64_t>(kTensorSlack));
    int64_t at = 0;
    for (size_t other : placed) {
      if (intervals[other].last < intervals[i].first || intervals[i].last < intervals[other].first)
        continue;
      if (at + size <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] +
                            AlignUp(intervals[other].bytes + static_cast<int64_t>(kTensorSlack)));
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        i);
  }
  return plan;
}

MemoryPlan PlanMemory(const Plan& plan, std::span<const std::vector<kernels::Alias>> aliases,
                      std::span<const int64_t> workspace_bytes) {
  const Sharing sharing(plan, aliases);
  MemoryPlan memory;
  const Binding binding = Bind(plan, sharing, memory.copied_outputs);

  std::vector<Interval> intervals;
  std::vector<size_t> interval_of(plan.tensors.size());
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    if (sharing.root(static_cast<int>(t)) != static_cast<int>(t)) continue;
    if (binding.input[t] >= 0 || binding.output[t] >= 0 ||
        sharing.life(static_cast<int>(t)).last < 0)
      continue;
    interval_of[t] = intervals.size();
    intervals.push_back(sharing.life(static_cast<int>(t)));
  }
  const size_t first_workspace = intervals.size();
  for (size_t i = 0; i < workspace_bytes.size(); ++i) {
    intervals.push_back({workspace_bytes[i], static_cast<int>(i), static_cast<int>(i)});
  }
  const ArenaPlan arena = PlanArena(intervals);
  memory.arena_bytes = arena.bytes;
  memory.workspaces.assign(arena.offsets.begin() + static_cast<ptrdiff_t>(first_workspace),
                           arena.offsets.end());
  for (size_t t = 0; t < plan.tensors.size(); ++t) {
    const auto root = static_cast<size_t>(sharing.root(static_cast<int>(t)));
    const int64_t offset = sharing.offset(static_cast<int>(t));
    if (binding.input[root] >= 0) {
      memory.tensors.push_back({Placement::Kind::kInput, binding.input[root], offset});
    } else if (binding.output[root] >= 0) {
      memory.tensors.push_back({Placement::Kind::kOutput, binding.output[root], offset});
    } else {
      const bool used = sharing.life(static_cast<int>(root)).last >= 0;
      memory.tensors.push_back(
          {Placement::Kind::kArena, 0, used ? arena.offsets[interval_of[root]] + offset : 0});
    }
  }
  return memory;
}

}  // namespace fettle::exec
