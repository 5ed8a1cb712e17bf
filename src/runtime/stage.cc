#include "runtime/stage.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_marks.h"

namespace fettle::runtime {

Status Stage::PlanOn(const DeviceSet& devices, Context& context) {
  devices_ = devices;
  planner::Limits limits = context.limits;
  if (devices.beside_cpu().empty()) limits.preferred = DeviceKind::kCpu;
  const int64_t begin = NowNs();
  ASSIGN_OR_RETURN(exec::Plan plan, context.plans.PlanFor(*segment_, devices, limits));
  context.preparation.plan_ns += NowNs() - begin;
  context.has_default_plans |= plan.is_default;
  ASSIGN_OR_RETURN(program_, exec::Program::Build(std::move(plan), devices, context.packed,
                                                  context.cancelled_by_caller, Beside(context)));
  context.preparation.Add(program_->build_times());
  bound_programs_.clear();
  bound_ = nullptr;
  return context.memory.Reserve(program_->memory_plan(), devices);
}

exec::MemoryBeside Stage::Beside(const Context& context) const {
  // Free memory of results is used for these, or let go of where that is needed.
  const int64_t outputs = std::max<int64_t>(OutputBytes() - context.results.free_bytes(), 0);
  return {.outputs = context.outputs_are_bound ? 0 : outputs,
          .work_held = context.memory.held_bytes()};
}

int64_t Stage::OutputBytes() const {
  int64_t bytes = 0;
  for (const auto& [dtype, shape] : program_output_types_)
    bytes += StorageBytes(dtype, shape.elements());
  return bytes;
}

bool Stage::MayLeaveAccelerator(const Status& status, const Context& context) const {
  return !devices_.beside_cpu().empty() && !context.limits.accelerator_only &&
         (status.code() == StatusCode::kBuildFailed || status.code() == StatusCode::kOutOfMemory ||
          status.code() == StatusCode::kDeviceError);
}

Status Stage::LeaveAccelerator(const Status& why, Context& context) {
  std::string names;
  for (const Device* device : devices_.beside_cpu())
    names += fmt::format("{}'{}'", names.empty() ? "" : " or ", device->name());
  Log(LogLevel::kWarn, "{} fails, the CPU computes instead: {}", names, why.message());
  return PlanOn(DeviceSet(context.devices.cpu()), context);
}

namespace {

/// What is run again, where the work-groups of a chain have not met, finds its inputs as they were
/// unless an output is the memory of one.
bool MayRunAgain(const Bindings& bindings, const std::vector<const std::byte*>& in) {
  return std::ranges::none_of(bindings.outputs, [&](const TensorBuffer* output) {
    return output != nullptr && std::ranges::find(in, output->base()) != in.end();
  });
}

}  // namespace

Status Stage::SetOperands(std::span<const Tensor> inputs, const Bindings& bindings,
                          OutputPool& pool) {
  auto& [bound, outputs, in, out, device_copies, host_copies] = operands_;
  BoundOutputs(bindings, bound);
  outputs.clear();
  in.clear();
  out.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorBuffer* const buffer = bindings.inputs.empty() ? nullptr : bindings.inputs[i];
    in.push_back(buffer == nullptr ? inputs[i].data() : buffer->base());
  }
  const BoundProgram* const on_device = BoundFor(bindings);
  if (on_device != nullptr)
    for (const auto& constant : on_device->constants)
      in.push_back(static_cast<const std::byte*>(constant->base()));
  for (size_t i = 0; i < program_output_types_.size(); ++i) {
    // Nobody asks for the tensors where all outputs are the caller's.
    if (bound[i] != nullptr) {
      if (!bindings.has_all_outputs()) outputs.push_back(bound[i]->host());
      out.push_back(bound[i]->base());
      continue;
    }
    const auto& [dtype, shape] = program_output_types_[i];
    ASSIGN_OR_RETURN(Tensor output, pool.Take(dtype, shape, devices_));
    marks::Fresh(output.data(), StorageBytes(dtype, output.elements()));
    out.push_back(output.data());
    outputs.push_back(std::move(output));
  }
  if (on_device != nullptr)
    for (const size_t copy : device_copies) out.push_back(bindings.outputs[copy]->base());
  return OkStatus();
}

Status Stage::RunProgram(std::span<const Tensor> inputs, Context& context,
                         const Bindings& bindings) {
  RETURN_IF_ERROR(SetOperands(inputs, bindings, context.results));
  const std::vector<const std::byte*>& in = operands_.in;
  const size_t steps_before = context.times.size();
  const auto run = [&](const exec::Program& program, bool waits) -> Status {
    RETURN_IF_ERROR(context.memory.Reserve(program.memory_plan(), devices_));
    return program.Run({.inputs = in,
                        .outputs = operands_.out,
                        .memory = context.memory,
                        .stream = context.stream,
                        .accelerators = context.accelerators,
                        .cancelled = context.cancelled,
                        .times = &context.times,
                        .waits_for_steps = context.waits_for_steps,
                        .cancelled_by_caller = context.cancelled_by_caller,
                        .waits_for_devices = waits,
                        .chains = program.plan().chains.empty() || MayRunAgain(bindings, in)
                                      ? &context.chains
                                      : nullptr});
  };
  const BoundProgram* const on_device = BoundFor(bindings);
  // A run whose outputs stay on the device does not read them back, so it has to wait itself.
  Status status = run(on_device != nullptr ? *on_device->program : *program_,
                      /*waits=*/on_device != nullptr);
  if (MayLeaveAccelerator(status, context)) {
    context.times.resize(steps_before);
    RETURN_IF_ERROR(LeaveAccelerator(status, context));
    if (on_device != nullptr) return status;
    status = run(*program_, /*waits=*/false);
  }
  if (status.ok()) CopyOnHost(bindings);
  return status;
}

Result<Tensor> Stage::Fetch(const Source& source, const Results& results) const {
  switch (source.kind) {
    case Source::Kind::kInput: return results.inputs[source.index];
    case Source::Kind::kProgram: return results.program[source.index];
    case Source::Kind::kControl: return results.control[source.index];
    case Source::Kind::kConstant: break;
  }
  return source.constant == nullptr ? Result<Tensor>(Tensor()) : source.constant->ToTensor();
}

Result<std::vector<Tensor>> Stage::FetchOutputs(const Results& results,
                                                const Bindings& bindings) const {
  std::vector<Tensor> tensors;
  if (bindings.has_all_outputs()) return tensors;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    tensors.emplace_back();
    if (!bindings.outputs.empty() && bindings.outputs[i] != nullptr) continue;
    ASSIGN_OR_RETURN(tensors.back(), Fetch(outputs_[i], results));
  }
  return tensors;
}

Result<std::vector<Tensor>> Stage::Run(std::span<const Tensor> inputs, Context& context,
                                       const Bindings& bindings) {
  Result<std::vector<Tensor>> results = RunParts(inputs, context, bindings);
  operands_.outputs.clear();  // who holds a tensor keeps it from being written again
  return results;
}

Result<std::vector<Tensor>> Stage::RunParts(std::span<const Tensor> inputs, Context& context,
                                            const Bindings& bindings) {
  Results results{inputs, {}, {}};
  if (program_ != nullptr) {
    RETURN_IF_ERROR(RunProgram(inputs, context, bindings));
    results.program = operands_.outputs;
  }
  const auto fetch_all = [&](const std::vector<Source>& sources) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> tensors;
    tensors.reserve(sources.size());
    for (const Source& source : sources) {
      ASSIGN_OR_RETURN(Tensor tensor, Fetch(source, results));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  };
  if (control_ != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> operands, fetch_all(control_inputs_));
    ASSIGN_OR_RETURN(results.control, control_->Run(operands));
  }
  if (next_ == nullptr) return FetchOutputs(results, bindings);
  ASSIGN_OR_RETURN(const std::vector<Tensor> next_inputs, fetch_all(next_inputs_));
  return next_->Run(next_inputs, context);
}

}  // namespace fettle::runtime
