#include "exec/sharing.h"

#include <numeric>

namespace fettle::exec {

Sharing::Sharing(const Plan& plan, std::span<const std::vector<kernels::Alias>> aliases,
                 std::span<const TensorWindow> windows, std::span<const int64_t> bytes)
    : plan_(plan),
      root_(plan.tensors.size()),
      offset_(plan.tensors.size()),
      life_(plan.tensors.size()) {
  std::iota(root_.begin(), root_.end(), 0);
  for (size_t i = 0; i < windows.size(); ++i) {
    const TensorWindow& window = windows[i];
    Attach({window.tensor, window.of, static_cast<int>(i)}, window.byte_offset);
  }
  MergeViews(aliases);
  first_roots_ = root_;
  MeasureLives(bytes);
  MergeInPlace(aliases);
}

void Sharing::Attach(const Attachment& attachment, int64_t byte_offset) {
  root_[attachment.tensor] = root(attachment.parent);
  offset_[attachment.tensor] = offset(attachment.parent) + byte_offset;
  attachments_.push_back(attachment);
}

void Sharing::MergeViews(std::span<const std::vector<kernels::Alias>> aliases) {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlannedStep& step = plan_.steps[i];
    for (int input : step.inputs) MergeSameBytes(input);
    for (size_t k = 0; k < aliases[i].size(); ++k) {
      const kernels::Alias& alias = aliases[i][k];
      if (!alias.is_view) continue;
      Attach({step.outputs[alias.output], step.inputs[alias.input], -1, static_cast<int>(i),
              static_cast<int>(k)},
             alias.byte_offset);
    }
  }
  for (int output : plan_.outputs) {
    if (output >= 0) MergeSameBytes(output);
  }
}

void Sharing::MergeSameBytes(int tensor) {
  const int other = plan_.tensors[tensor].same_bytes_as;
  if (other >= 0) Attach({tensor, other}, 0);
}

void Sharing::MeasureLives(std::span<const int64_t> bytes) {
  for (Interval& life : life_) life = {0, static_cast<int>(plan_.steps.size()), -1};
  for (size_t t = 0; t < plan_.tensors.size(); ++t) {
    Interval& life = life_[root_[t]];
    life.bytes = std::max(life.bytes, offset_[t] + bytes[t]);
  }
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto touch = [&](int tensor) {
      Interval& life = life_[root(tensor)];
      life.first = std::min(life.first, static_cast<int>(i));
      life.last = std::max(life.last, static_cast<int>(i));
    };
    for (int tensor : plan_.steps[i].inputs) touch(tensor);
    for (int tensor : plan_.steps[i].outputs) touch(tensor);
  }
  for (int output : plan_.outputs) {
    if (output >= 0) life_[root(output)].last = static_cast<int>(plan_.steps.size());
  }
}

void Sharing::MergeInPlace(std::span<const std::vector<kernels::Alias>> aliases) {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlannedStep& step = plan_.steps[i];
    for (const kernels::Alias& alias : aliases[i]) {
      if (alias.is_view) continue;
      const int input = root(step.inputs[alias.input]);
      const int output = step.outputs[alias.output];
      if (!CanReuse(static_cast<int>(i), step, alias, input, output)) continue;
      reuses_.push_back({step.inputs[alias.input], input, output});
      TakeOver(input, output);
    }
  }
}

bool Sharing::CanReuse(int step_index, const PlannedStep& step, const kernels::Alias& alias,
                       int input, int output) const {
  if (root(output) != output || input == output) return false;
  if (life(output).first != step_index) return false;  // windows of it were written before
  if (IsInput(input) || IsOutput(input) || IsOutput(output)) return false;
  if (offset(step.inputs[alias.input]) != 0) return false;
  // An image is read or written, never both.
  const State &read = StateOf(input), &written = StateOf(output);
  if (read.device != written.device || read.memory != written.memory || IsImage(read.memory))
    return false;
  const Interval& from = life(input);
  // No other operand may still need the bytes that the output overwrites.
  const auto readers = std::count_if(step.inputs.begin(), step.inputs.end(),
                                     [&](int tensor) { return root(tensor) == input; });
  return from.last == step_index && readers == 1 && life(output).bytes <= from.bytes;
}

void Sharing::TakeOver(int input, int output) {
  life_[input].last = std::max(life(input).last, life(output).last);
  for (size_t t = 0; t < root_.size(); ++t) {
    if (root_[t] == output) root_[t] = input;
  }
}

}  // namespace fettle::exec
