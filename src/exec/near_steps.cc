// What is known of the steps of programs that are made for other extents.
#include <algorithm>

#include "exec/near_programs.h"
#include "kernels/join_windows.h"

namespace fettle::exec {
namespace {

bool HaveOtherOnes(std::span<const int64_t> a, std::span<const int64_t> b) {
  return !std::ranges::equal(a, b, [](int64_t x, int64_t y) { return (x == 1) == (y == 1); });
}

}  // namespace

NearPrograms::Step NearPrograms::StepOf(size_t i, const std::vector<ir::ValueId>& values) const {
  const PlannedStep& planned = like_->plan().steps[i];
  Step step;
  if (planned.kernel == nullptr) return step;
  for (ir::ValueId id : planned.values)
    step.values.push_back(id == ir::kAbsent ? ir::kAbsent : values[id]);
  for (ir::ValueId id : planned.problem.group->values().ids()) {
    if (step.values[id] == ir::kAbsent) continue;
    const bool is_constant = planned.problem.group->value(id).is_constant();
    (is_constant ? step.constants : step.sized).push_back(id);
  }
  auto group = std::make_shared<ir::Graph>(*planned.problem.group);
  step.group = group.get();
  step.problem = {std::move(group), planned.problem.states, planned.problem.threads};
  step.near = dynamic_cast<const kernels::MatchesNear*>(planned.match.get());
  step.taste = planned.match->taste();
  step.setting = {planned.states_index, planned.problem.threads, {}, false};
  if (!planned.has_all_params) step.setting.params = planned.params;
  const kernels::PreparedKernel* const kernel = like_->steps_[i].kernel.get();
  if (kernel == nullptr) return step;
  if (step.near != nullptr && step.setting.params.empty())
    step.takes = dynamic_cast<const kernels::TakesExtents*>(kernel);
  for (const kernels::PackRequest& request : kernel->packs())
    step.recipes.push_back(request.recipe);
  return step;
}

Shape NearPrograms::ShapeOf(ir::ValueId value, const Extents& extents) const {
  const auto begin = extents.begin() + static_cast<ptrdiff_t>(places_[value].begin);
  return Shape(Dims(begin, begin + places_[value].rank));
}

std::shared_ptr<const ir::Graph> NearPrograms::GroupAt(size_t i, const Extents& extents) const {
  auto group = std::make_shared<ir::Graph>(*like_->plan().steps[i].problem.group);
  for (ir::ValueId id : steps_[i].sized)
    group->value(id).shape = ShapeOf(steps_[i].values[id], extents);
  return group;
}

bool NearPrograms::MayShare(const Program::Step& like) {
  if (like.kernel == nullptr || like.writes_window) return false;
  if (!like.is_own) return true;
  const auto* joins = like.kernel->joins();
  return joins == nullptr || joins->windows().empty();
}

bool NearPrograms::HasExtents(ir::ValueId value, const NearGraph& near) const {
  const auto [begin, rank] = places_[value];
  return std::equal(extents_->data() + begin, extents_->data() + begin + rank,
                    near.extents->data() + begin);
}

bool NearPrograms::IsSame(size_t i, const NearGraph& near) const {
  const PlannedStep& planned = like_->plan().steps[i];
  if (planned.kernel == nullptr) return HasExtents(tensors_[planned.inputs[0]], near);
  return std::ranges::all_of(
             steps_[i].sized,
             [&](ir::ValueId id) { return HasExtents(steps_[i].values[id], near); }) &&
         !HasOtherConstant(i, near);
}

bool NearPrograms::HasOtherOnes(const NearGraph& near) const {
  return HaveOtherOnes(*extents_, *near.extents);
}

bool NearPrograms::HasOtherOnes(size_t i, const NearGraph& near) const {
  if (!has_other_ones_) return false;
  return std::ranges::any_of(steps_[i].sized, [&](ir::ValueId id) {
    const auto [begin, rank] = places_[steps_[i].values[id]];
    return HaveOtherOnes(std::span(*extents_).subspan(begin, rank),
                         std::span(*near.extents).subspan(begin, rank));
  });
}

Status NearPrograms::CheckSameBytes(const NearGraph& near) const {
  const std::vector<PlannedTensor>& tensors = like_->plan().tensors;
  for (const size_t t : same_bytes_) {
    const Layout& other = tensors[tensors[t].same_bytes_as].state.layout;
    if (!SameOffsets(*near.graph->value(tensors_[t]).shape, tensors[t].state.layout, other))
      return Unsupported("a tensor of other layouts");
  }
  return OkStatus();
}

bool NearPrograms::HasOtherConstant(size_t i, const NearGraph& near) const {
  return near.has_other_constants && HasOtherConstant(i, steps_[i].constants, near);
}

bool NearPrograms::HasOtherConstant(size_t i, std::span<const ir::ValueId> constants,
                                    const NearGraph& near) const {
  return std::ranges::any_of(constants, [&](ir::ValueId id) {
    const ir::ValueId value = steps_[i].values[id];
    return value != ir::kAbsent && near.other_constant[value];
  });
}

/// A kernel that was matched anew, or reads its group, keeps the last one. Constants that hold the
/// same elements stay those that it was planned with.
void NearPrograms::SetGroup(size_t i, const NearGraph& near) {
  Step& step = steps_[i];
  if (step.problem.group.use_count() > 1) {
    auto group = std::make_shared<ir::Graph>(*like_->plan().steps[i].problem.group);
    step.group = group.get();
    step.problem.group = std::move(group);
  }
  for (ir::ValueId id : step.sized)
    step.group->value(id).shape = near.graph->value(step.values[id]).shape;
  for (ir::ValueId id : step.constants) {
    const bool is_other = near.other_constant[step.values[id]];
    const ir::Value& from = is_other ? near.graph->value(step.values[id])
                                     : like_->plan().steps[i].problem.group->value(id);
    ir::Value& to = step.group->value(id);
    if (to.constant == from.constant) continue;
    to.shape = from.shape;
    to.constant = from.constant;
  }
}

}  // namespace fettle::exec
