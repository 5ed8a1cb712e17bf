#include "exec/near_programs.h"

#include <algorithm>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "kernels/backend.h"
#include "kernels/join_windows.h"
#include "kernels/launch_tunables.h"
#include "kernels/wanted_states.h"
#include "kernels/work.h"
#include "ops/macs.h"

namespace fettle::exec {

/// What a program does not keep of a step.
struct NearPrograms::Made {
  kernels::Work work;
  int64_t macs = 0;
  StepProfile profile;
};

NearPrograms::NearPrograms(std::shared_ptr<const Program> like,
                           const std::vector<ir::ValueId>& values)
    : like_(std::move(like)) {
  const Plan& plan = like_->plan();
  for (const PlannedTensor& tensor : plan.tensors) tensors_.push_back(values[tensor.value]);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlannedStep& planned = plan.steps[i];
    Step& step = steps_.emplace_back();
    if (planned.kernel == nullptr) continue;
    for (ir::ValueId id : planned.values)
      step.values.push_back(id == ir::kAbsent ? ir::kAbsent : values[id]);
    step.near = dynamic_cast<const kernels::MatchesNear*>(planned.match.get());
    step.taste = planned.match->taste();
    step.setting = {planned.states_index, planned.problem.threads, {}, false};
    if (!planned.has_all_params) step.setting.params = planned.params;
    const kernels::PreparedKernel* const kernel = like_->steps_[i].kernel.get();
    if (kernel == nullptr) continue;
    for (const kernels::PackRequest& request : kernel->packs())
      step.recipes.push_back(request.recipe);
  }
}

bool NearPrograms::MayShare(const Program::Step& like) {
  if (like.kernel == nullptr || like.writes_window) return false;
  const auto* joins = dynamic_cast<const kernels::JoinsWindows*>(like.kernel.get());
  return joins == nullptr || joins->windows().empty();
}

bool NearPrograms::IsSame(size_t i, const NearGraph& near) const {
  const PlannedStep& planned = like_->plan().steps[i];
  if (planned.kernel == nullptr) {
    const PlannedTensor& tensor = like_->plan().tensors[planned.inputs[0]];
    return *near.graph->value(tensors_[planned.inputs[0]]).shape == tensor.shape;
  }
  const ir::Graph& group = *planned.problem.group;
  for (ir::ValueId id : group.values().ids()) {
    const ir::ValueId value = steps_[i].values[id];
    if (value != ir::kAbsent && near.graph->value(value).shape != group.value(id).shape)
      return false;
  }
  return !HasOtherConstant(i, near);
}

bool NearPrograms::HasOtherConstant(size_t i, const NearGraph& near) const {
  return std::ranges::any_of(steps_[i].values, [&](ir::ValueId value) {
    return value != ir::kAbsent && near.other_constant[value];
  });
}

/// A kernel that was matched anew, or reads its group, keeps the last one.
const std::shared_ptr<ir::Graph>& NearPrograms::GroupOf(size_t i, const NearGraph& near) {
  Step& step = steps_[i];
  if (step.group == nullptr || step.group.use_count() > 1)
    step.group = std::make_shared<ir::Graph>(*like_->plan().steps[i].problem.group);
  for (ir::ValueId id : step.group->values().ids()) {
    if (step.values[id] == ir::kAbsent) continue;
    const ir::Value& from = near.graph->value(step.values[id]);
    ir::Value& to = step.group->value(id);
    to.shape = from.shape;
    if (to.constant != from.constant) to.constant = from.constant;
  }
  return step.group;
}

Status NearPrograms::MakeConversion(const PlannedStep& planned, const NearGraph& near,
                                    const Device& cpu, Program::Step& step) const {
  const std::vector<PlannedTensor>& tensors = like_->plan().tensors;
  const int from = planned.inputs[0], to = planned.outputs[0];
  ASSIGN_OR_RETURN(step.kernel,
                   kernels::PrepareAnyConversion(*near.graph->value(tensors_[from]).shape,
                                                 tensors[from].state, tensors[to].state, cpu));
  return OkStatus();
}

Status NearPrograms::MakeGroup(size_t i, const NearGraph& near, const Device& cpu,
                               Program::Step& step, Made& made) {
  const PlannedStep& planned = like_->plan().steps[i];
  const Step& known = steps_[i];
  const std::shared_ptr<ir::Graph>& group = GroupOf(i, near);
  std::shared_ptr<const kernels::Match> match;
  kernels::Setting setting = known.setting;
  if (known.near != nullptr && !HasOtherConstant(i, near)) {
    ASSIGN_OR_RETURN(match, known.near->MatchNear(group, setting.states));
    setting.states = 0;
    ASSIGN_OR_RETURN(step.kernel, match->Prepare(setting));
  } else {
    const kernels::WantedStates wanted(planned.problem.states);
    ASSIGN_OR_RETURN(match, kernels::MatchGroup(*planned.kernel, group, cpu));
    ASSIGN_OR_RETURN(setting.states,
                     kernels::FindStates(*planned.kernel, *match, planned.problem.states));
    ASSIGN_OR_RETURN(step.kernel, kernels::PrepareWithLaunches(*match, setting, cpu));
    step.match = match;
  }
  if (match->taste() != known.taste) return Unsupported("{}: another taste", planned.kernel->name);
  made.macs = ops::MacsOf(*group);
  made.work = kernels::WorkOf(*planned.kernel, {group, planned.problem.states, setting.threads},
                              match.get(), setting);
  return OkStatus();
}

Status NearPrograms::MakeStep(size_t i, const NearGraph& near, const Device& cpu, Program& program,
                              Made& made) {
  const PlannedStep& planned = like_->plan().steps[i];
  const Program::Step& like = like_->steps_[i];
  Program::Step& step = program.steps_[i];
  step.nothing_to_do = std::ranges::all_of(planned.outputs, [&](int tensor) {
    return near.graph->value(tensors_[tensor]).shape->elements() == 0;
  });
  if (step.nothing_to_do) return OkStatus();
  if (MayShare(like) && IsSame(i, near)) {
    step.kernel = like.kernel;
    step.match = like.match;
    step.blobs = like.blobs;
    step.packed = like.packed;
    step.profile = like.profile;
    step.is_shared = true;
    return OkStatus();
  }
  if (planned.kernel == nullptr) return MakeConversion(planned, near, cpu, step);
  return MakeGroup(i, near, cpu, step, made);
}

Status NearPrograms::PackStep(size_t i, const NearGraph& near, PackedStore& packed,
                              Program::Step& step) {
  if (step.kernel == nullptr || step.is_shared || like_->plan().steps[i].kernel == nullptr)
    return OkStatus();
  const std::vector<kernels::PackRequest> requests = step.kernel->packs();
  const Program::Step& like = like_->steps_[i];
  if (like.blobs.size() == requests.size() && !HasOtherConstant(i, near) &&
      std::ranges::equal(requests, steps_[i].recipes, {}, &kernels::PackRequest::recipe)) {
    step.blobs = like.blobs;
    step.packed = like.packed;
    return OkStatus();
  }
  for (const kernels::PackRequest& request : requests) {
    ASSIGN_OR_RETURN(std::shared_ptr<const PackedBlob> blob, packed.Get(request, *steps_[i].group));
    step.packed.push_back({blob->data.get(), 0});
    step.blobs.push_back(std::move(blob));
  }
  return OkStatus();
}

/// As the profile of the program that it is like, with other numbers.
void NearPrograms::Describe(size_t i, const Program& program, Made& made) const {
  const PlannedStep& planned = like_->plan().steps[i];
  made.profile = *like_->steps_[i].profile;
  made.profile.macs = made.macs;
  made.profile.bytes = 0;
  for (int tensor : planned.inputs) made.profile.bytes += program.bytes_[tensor];
  for (int tensor : planned.outputs) made.profile.bytes += program.bytes_[tensor];
  made.profile.work = made.work;
  if (planned.kernel == nullptr) made.profile.work.bytes = static_cast<double>(made.profile.bytes);
  for (const auto& blob : program.steps_[i].blobs) made.profile.bytes += blob->bytes;
}

Result<std::unique_ptr<Program>> NearPrograms::Build(const NearGraph& near,
                                                     const DeviceSet& devices, PackedStore& packed,
                                                     const std::atomic<bool>* cancelled,
                                                     MemoryBeside memory) {
  const int64_t begin = NowNs();
  if (Program::IsSet(cancelled)) return Program::Cancelled();
  std::unique_ptr<Program> program(new Program());
  program->plan_ = like_->plan_;
  program->steps_.resize(steps_.size());
  for (size_t t = 0; t < tensors_.size(); ++t)
    program->bytes_.push_back(
        StateBytes(*near.graph->value(tensors_[t]).shape, like_->plan().tensors[t].state));
  std::vector<Made> made(steps_.size());
  std::vector<Status> statuses(steps_.size());
  ThreadPool& pool = static_cast<const CpuDevice&>(devices.cpu()).pool();
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
  pool.ParallelFor(std::ssize(steps_), pool.threads(), [&](int64_t task, int) {
    const MemoryScope scope(budget);
    const auto i = static_cast<size_t>(task);
    statuses[i] = MakeStep(i, near, devices.cpu(), *program, made[i]);
    if (statuses[i].ok()) statuses[i] = PackStep(i, near, packed, program->steps_[i]);
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  const std::vector<TensorWindow> windows = program->PlanSteps(devices);
  RETURN_IF_ERROR(program->CheckMemory(packed, memory, Program::Requests(steps_.size())));
  std::vector<StepProfile> profiles(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (program->steps_[i].is_shared) continue;
    Describe(i, *program, made[i]);
    profiles[i] = std::move(made[i].profile);
  }
  Program::LeaveOutWindows(*like_->plan_, windows, program->bytes_, profiles);
  program->KeepProfiles(profiles);
  program->build_times_ = {.kernels_ns = NowNs() - begin};
  return program;
}

}  // namespace fettle::exec
