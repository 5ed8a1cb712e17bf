#include "exec/program.h"

#include <algorithm>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "exec/choose_windows.h"
#include "exec/memory_outline.h"
#include "kernels/packed_images.h"
#include "ops/macs.h"
#include "ops/op.h"

namespace fettle::exec {
namespace {

bool CrossesDevices(const Plan& plan, const PlannedStep& conversion) {
  const auto device = [&](int tensor) { return plan.tensors[tensor].state.device; };
  return device(conversion.inputs[0]) != device(conversion.outputs[0]);
}

/// Empty tensors need no kernel, so kernels never see an output without elements.
bool WritesNothing(const Plan& plan, const PlannedStep& step) {
  return std::all_of(step.outputs.begin(), step.outputs.end(),
                     [&](int tensor) { return plan.tensors[tensor].shape.elements() == 0; });
}

}  // namespace

Result<std::unique_ptr<Program>> Program::Build(Plan plan, const DeviceSet& devices,
                                                PackedStore& packed,
                                                const std::atomic<bool>* cancelled,
                                                MemoryBeside memory) {
  std::unique_ptr<Program> program(new Program());
  program->plan_ = std::make_shared<const Plan>(std::move(plan));
  RETURN_IF_ERROR(program->Prepare(devices, packed, cancelled, memory));
  return program;
}

Status Program::Prepare(const DeviceSet& devices, PackedStore& packed,
                        const std::atomic<bool>* cancelled, MemoryBeside memory) {
  const int64_t begin = NowNs();
  std::vector<StepProfile> profiles;
  profiles.reserve(plan_->steps.size());
  steps_.reserve(plan_->steps.size());
  for (const PlannedStep& planned : plan_->steps) {
    Step& step = steps_.emplace_back();
    step.device = devices.IndexOf(DeviceOf(*plan_, planned));
    step.crosses_devices = planned.kernel == nullptr && CrossesDevices(*plan_, planned);
    step.nothing_to_do = WritesNothing(*plan_, planned);
    profiles.push_back(TakeKept(planned, step) ? StepProfile() : Describe(planned));
    if (step.device < 0)
      return Error(StatusCode::kDeviceUnavailable, "{}: planned for a device that is not available",
                   profiles.back().node);
  }
  RETURN_IF_ERROR(PrepareKernels(devices, cancelled, profiles));
  const int64_t prepared = NowNs();
  bytes_ = TensorBytes(*plan_);
  windows_ = PlanSteps(devices);
  LeaveOutWindows(*plan_, windows_, bytes_, profiles);
  const Requests requests = PackRequests();
  RETURN_IF_ERROR(CheckMemory(packed, memory, requests));
  RETURN_IF_ERROR(PackAll(devices, packed, cancelled, requests, profiles));
  build_times_ = {.kernels_ns = prepared - begin, .weights_ns = NowNs() - prepared};
  KeepProfiles(profiles);
  KeepSteps();
  FindGraphs();
  return OkStatus();
}

Program::Requests Program::PackRequests() const {
  Requests requests(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].kernel != nullptr && !steps_[i].is_shared)
      requests[i] = steps_[i].kernel->packs();
  return requests;
}

namespace {

/// Steps, by how many bytes they pack.
std::vector<size_t> LargestFirst(std::span<const std::vector<kernels::PackRequest>> requests) {
  std::vector<int64_t> bytes(requests.size(), 0);
  std::vector<size_t> order(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    order[i] = i;
    for (const kernels::PackRequest& request : requests[i]) bytes[i] += request.bytes;
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  return order;
}

}  // namespace

/// On all threads, the largest ones first: they would be the last ones of a thread alone.
Status Program::PackAll(const DeviceSet& devices, PackedStore& packed,
                        const std::atomic<bool>* cancelled, const Requests& requests,
                        std::vector<StepProfile>& profiles) {
  std::vector<Status> statuses(steps_.size());
  ThreadPool& pool = static_cast<const CpuDevice&>(devices.cpu()).pool();
  const std::shared_ptr<MemoryBudget> budget = MemoryBudget::OutsideLoops();
  const std::vector<size_t> order = LargestFirst(requests);
  pool.ParallelFor(std::ssize(steps_), pool.threads(), [&](int64_t task, int) {
    const MemoryScope scope(budget);
    const size_t i = order[task];
    if (IsSet(cancelled)) {
      statuses[i] = Cancelled();
    } else {
      statuses[i] = Pack(requests[i], plan_->steps[i], DeviceAt(devices, steps_[i].device), packed,
                         steps_[i], profiles[i]);
    }
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  return OkStatus();
}

std::vector<TensorWindow> Program::PlanSteps(const DeviceSet& devices, MemoryOutline* outline) {
  // What is shared neither joins nor writes windows.
  std::shared_ptr<kernels::PreparedKernel> none;
  std::vector<std::shared_ptr<kernels::PreparedKernel>*> made;
  for (Step& step : steps_) made.push_back(step.is_shared ? &none : &step.kernel);
  std::vector<TensorWindow> windows = ChooseWindows(*plan_, made);
  MarkOwn(windows);
  std::vector<std::vector<kernels::Alias>> aliases(steps_.size());
  std::vector<int64_t> workspaces(steps_.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.kernel != nullptr) {
      aliases[i] = step.kernel->aliases();
      workspaces[i] = step.kernel->workspace_bytes();
      const size_t outputs = plan_->steps[i].outputs.size();
      const auto views = std::count_if(aliases[i].begin(), aliases[i].end(),
                                       [](const kernels::Alias& alias) { return alias.is_view; });
      step.nothing_to_do = outputs > 0 && static_cast<size_t>(views) == outputs;
    } else {
      step.nothing_to_do = true;
    }
  }
  const MemoryNeeds needs{aliases, workspaces, windows, bytes_};
  if (outline != nullptr && outline->LayOut(*plan_, needs, memory_)) return windows;
  std::vector<DeviceKind> kinds;
  for (const Device* device : devices.all()) kinds.push_back(device->kind());
  memory_ = PlanMemory(*plan_, kinds, needs, outline);
  return windows;
}

void Program::LeaveOutWindows(const Plan& plan, std::span<const TensorWindow> windows,
                              std::span<const int64_t> bytes, std::vector<StepProfile>& profiles) {
  for (const TensorWindow& window : windows) {
    const int64_t copied = 2 * bytes[window.tensor];
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const std::vector<int>& outputs = plan.steps[i].outputs;
      if (std::find(outputs.begin(), outputs.end(), window.of) == outputs.end()) continue;
      profiles[i].bytes -= copied;
      profiles[i].work.bytes -= static_cast<double>(copied);
    }
  }
}

void Program::KeepProfiles(std::vector<StepProfile>& profiles) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].is_shared) continue;
    if (steps_[i].nothing_to_do) {
      profiles[i].bytes = 0;
      profiles[i].work = {};
    }
    steps_[i].profile = std::make_shared<const StepProfile>(std::move(profiles[i]));
  }
  for (const StepChain& chain : plan_->chains)
    chain_profiles_.push_back(std::make_shared<const StepProfile>(DescribeChain(chain, steps_)));
}

Status Program::Pack(std::span<const kernels::PackRequest> requests, const PlannedStep& planned,
                     const Device& device, PackedStore& packed, Step& step, StepProfile& profile) {
  for (const kernels::PackRequest& request : requests) {
    ASSIGN_OR_RETURN(std::shared_ptr<const PackedBlob> blob,
                     packed.Get(request, *planned.problem.group));
    profile.bytes += blob->bytes;
    if (device.kind() == DeviceKind::kCpu) {
      step.packed.push_back({blob->data.get(), 0});
    } else {
      const MemoryRequest* image = kernels::PackedImageOf(*step.kernel, step.packed.size());
      ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> copy, packed.GetOn(device, blob, image));
      step.packed.push_back(copy->location());
      step.copies.push_back(std::move(copy));
    }
    step.blobs.push_back(std::move(blob));
  }
  return OkStatus();
}

StepProfile Program::Describe(const PlannedStep& step) const {
  StepProfile profile;
  profile.device = DeviceKindName(DeviceOf(*plan_, step));
  profile.op = "Convert";
  profile.kernel = profile.device + ".convert";
  if (step.kernel != nullptr) {
    profile.op.clear();
    profile.kernel = step.kernel->name;
    profile.node = NodesOf(step);
    for (const ir::Node& node : step.problem.group->nodes()) {
      if (!profile.op.empty()) profile.op += '+';
      profile.op += node.op.name();
    }
    profile.macs = ops::MacsOf(*step.problem.group);
  }
  const auto bytes = [&](int t) {
    const PlannedTensor& tensor = plan_->tensors[t];
    return StateBytes(tensor.shape, tensor.state);
  };
  const auto layout = [&](int t) {
    const PlannedTensor& tensor = plan_->tensors[t];
    return LayoutName(tensor.state.layout, tensor.shape.rank());
  };
  for (int tensor : step.inputs) profile.bytes += bytes(tensor);
  for (int tensor : step.outputs) profile.bytes += bytes(tensor);
  if (step.kernel == nullptr) profile.work.bytes = static_cast<double>(profile.bytes);
  if (!step.inputs.empty()) profile.layout_in = layout(step.inputs[0]);
  if (!step.outputs.empty()) {
    const PlannedTensor& tensor = plan_->tensors[step.outputs[0]];
    profile.layout_out = layout(step.outputs[0]);
    profile.dtype = DTypeName(tensor.state.storage);
    if (step.kernel == nullptr) profile.node = tensor.name;
  }
  return profile;
}

}  // namespace fettle::exec
