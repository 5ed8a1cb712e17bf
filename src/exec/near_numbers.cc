#include "exec/near_numbers.h"

#include <algorithm>

#include "kernels/work.h"
#include "ops/macs.h"

namespace fettle::exec {

void NearNumbers::Set(size_t step, StepProfile& profile) const {
  const auto own = std::ranges::find(own_, step, &Own::step);
  const bool has_own = own != own_.end();
  const kernels::KernelDesc* const other = has_own ? own->other : nullptr;
  const kernels::Match* const match = has_own ? own->match.get() : nullptr;
  const PlannedStep& planned = near_->like_->plan().steps[step];
  profile.macs = profile.bytes = 0;
  for (int tensor : planned.inputs) profile.bytes += BytesOf(tensor);
  for (int tensor : planned.outputs) profile.bytes += BytesOf(tensor);
  profile.work = {.bytes = static_cast<double>(profile.bytes)};
  if (planned.kernel != nullptr) {
    const std::shared_ptr<const ir::Graph> group = near_->GroupAt(step, *extents_);
    profile.macs = ops::MacsOf(*group);
    profile.work = WorkOf(step, other == nullptr ? *planned.kernel : *other, group, match)
                       .value_or(profile.work);
    for (const auto& blob : has_own ? own->blobs : near_->like_->steps_[step].blobs)
      profile.bytes += blob->bytes;
  }
  // What lies already where a join would copy it to is neither read nor written by the join.
  for (const TensorWindow& window : windows_) {
    if (std::ranges::find(planned.outputs, window.of) == planned.outputs.end()) continue;
    const int64_t copied = 2 * BytesOf(window.tensor);
    profile.bytes -= copied;
    profile.work.bytes -= static_cast<double>(copied);
  }
}

std::optional<kernels::Work> NearNumbers::WorkOf(size_t step, const kernels::KernelDesc& kernel,
                                                 const std::shared_ptr<const ir::Graph>& group,
                                                 const kernels::Match* match) const {
  const PlannedStep& planned = near_->like_->plan().steps[step];
  const NearPrograms::Step& known = near_->steps_[step];
  kernels::Setting setting = known.setting;
  std::unique_ptr<const kernels::Match> own;
  if (match == nullptr) {
    Result<std::unique_ptr<const kernels::Match>> made =
        known.near->MatchNear(group, setting.states);
    if (!made.ok()) return std::nullopt;  // the constants that it was planned with do not fit
    own = std::move(*made);
    match = own.get();
    setting.states = 0;
  } else if (const Result<int> states = kernels::FindStates(kernel, *match, planned.problem.states);
             states.ok()) {
    setting.states = *states;
  }
  return kernels::WorkOf(kernel, {group, planned.problem.states, setting.threads}, match, setting);
}

int64_t NearNumbers::BytesOf(int tensor) const {
  return StateBytes(near_->ShapeOf(near_->tensors_[tensor], *extents_),
                    near_->like_->plan().tensors[tensor].state);
}

}  // namespace fettle::exec
