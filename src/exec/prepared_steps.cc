// How the steps of a program get their kernels.
#include <algorithm>

#include "base/memory_budget.h"
#include "device/compile_elsewhere.h"
#include "exec/program.h"
#include "kernels/backend.h"
#include "kernels/launch_tunables.h"
#include "kernels/work.h"

namespace fettle::exec {
namespace {

Result<std::unique_ptr<kernels::PreparedKernel>> PrepareStep(const Plan& plan,
                                                             const PlannedStep& step,
                                                             const Device& device) {
  if (step.match != nullptr)
    return kernels::PrepareWithLaunches(
        *step.match, {step.states_index, step.problem.threads, step.params, step.has_all_params},
        device);
  if (step.kernel != nullptr)
    return kernels::PrepareWithLaunches(*step.kernel, step.problem, step.params, device);
  const PlannedTensor& from = plan.tensors[step.inputs[0]];
  const PlannedTensor& to = plan.tensors[step.outputs[0]];
  return kernels::PrepareAnyConversion(from.shape, from.state, to.state, device);
}

}  // namespace

Status Program::PrepareKernel(size_t index, const DeviceSet& devices,
                              const std::atomic<bool>* cancelled, StepProfile& profile) {
  const PlannedStep& planned = plan_->steps[index];
  Step& step = steps_[index];
  if (step.nothing_to_do || step.is_shared) return OkStatus();
  if (IsSet(cancelled)) return Cancelled();
  if (planned.kernel != nullptr)
    profile.work = kernels::WorkOf(
        *planned.kernel, planned.problem, planned.match.get(),
        {planned.states_index, planned.problem.threads, planned.params, planned.has_all_params});
  ASSIGN_OR_RETURN(step.kernel, PrepareStep(*plan_, planned, DeviceAt(devices, step.device)));
  return OkStatus();
}

/// Those of the CPU on all threads. Of others one at a time, on this thread: of programs that crash
/// compilers, one is to be blamed, and compilers may need more stack than other threads have.
Status Program::PrepareKernels(const DeviceSet& devices, const std::atomic<bool>* cancelled,
                               std::vector<StepProfile>& profiles) {
  PrepareOthersAhead(devices, cancelled);
  std::vector<Status> statuses(steps_.size());
  ThreadPool& pool = static_cast<const CpuDevice&>(devices.cpu()).pool();
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
  pool.ParallelFor(std::ssize(steps_), pool.threads(), [&](int64_t task, int) {
    const MemoryScope scope(budget);
    const size_t i = task;
    if (steps_[i].device == 0) statuses[i] = PrepareKernel(i, devices, cancelled, profiles[i]);
  });
  for (size_t i = 0; i < steps_.size(); ++i) {
    RETURN_IF_ERROR(statuses[i]);
    if (steps_[i].device != 0) RETURN_IF_ERROR(PrepareKernel(i, devices, cancelled, profiles[i]));
  }
  return OkStatus();
}

bool Program::TakeKept(const PlannedStep& planned, Step& step) {
  if (planned.kept == nullptr) return false;
  const std::shared_ptr<const MadeStep> made = planned.kept->Get();
  if (made == nullptr) return false;
  step.kernel = made->kernel;
  step.blobs = made->blobs;
  step.packed = made->packed;
  step.profile = made->profile;
  step.is_shared = true;
  return true;
}

void Program::MarkOwn(std::span<const TensorWindow> windows) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].writes_window = std::ranges::any_of(windows, [&](const TensorWindow& window) {
      return std::ranges::find(plan_->steps[i].outputs, window.tensor) !=
             plan_->steps[i].outputs.end();
    });
    const kernels::PreparedKernel* const kernel = steps_[i].kernel.get();
    steps_[i].is_own = steps_[i].writes_window || (kernel != nullptr && kernel->joins() != nullptr);
  }
}

void Program::KeepSteps() const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (plan_->steps[i].kept == nullptr || step.is_shared || step.is_own ||
        step.kernel == nullptr || step.device != 0)
      continue;
    plan_->steps[i].kept->Keep({step.kernel, step.blobs, step.packed, step.profile});
  }
}

/// Those of devices beside the CPU, whose programs may be compiled elsewhere.
void Program::PrepareOthersAhead(const DeviceSet& devices,
                                 const std::atomic<bool>* cancelled) const {
  std::vector<size_t> others;
  for (size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].device != 0 && !steps_[i].nothing_to_do) others.push_back(i);
  PrepareAhead(std::ssize(others), [&](int64_t i) {
    const size_t step = others[i];
    if (!IsSet(cancelled))
      (void)PrepareStep(*plan_, plan_->steps[step], DeviceAt(devices, steps_[step].device));
  });
}

}  // namespace fettle::exec
