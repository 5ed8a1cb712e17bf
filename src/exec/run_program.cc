// The runs of programs.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/subnormals.h"
#include "exec/program.h"

namespace fettle::exec {

Location Program::Locate(int tensor, const RunArgs& args) const {
  const Placement& placement = memory_.tensors[tensor];
  const size_t index = placement.index;
  switch (placement.kind) {
    case Placement::Kind::kInput:
      return {const_cast<std::byte*>(args.inputs[index]), placement.offset};
    case Placement::Kind::kOutput: return {args.outputs[index], placement.offset};
    case Placement::Kind::kImage:
      return args.memory.image(placement.device, plan_->tensors[tensor].state.storage,
                               placement.index);
    case Placement::Kind::kBytes: break;
  }
  return args.memory.bytes(placement.device, placement.offset);
}

Status Program::RunStep(size_t index, const RunArgs& args) const {
  const Step& step = steps_[index];
  const PlannedStep& planned = plan_->steps[index];
  Location operands[64];
  std::vector<Location> many;
  const size_t count = planned.inputs.size() + planned.outputs.size();
  Location* locations = operands;
  if (count > std::size(operands)) {
    many.resize(count);
    locations = many.data();
  }
  for (size_t i = 0; i < planned.inputs.size(); ++i) locations[i] = Locate(planned.inputs[i], args);
  Location* outputs = locations + planned.inputs.size();
  for (size_t i = 0; i < planned.outputs.size(); ++i) outputs[i] = Locate(planned.outputs[i], args);
  CpuStream cpu = args.stream;
  if (planned.kernel != nullptr)
    cpu.set_threads(
        std::min(cpu.threads(), step.threads > 0 ? step.threads : planned.problem.threads));
  Stream* stream = step.device == 0 ? &cpu : &StreamOf(step, args);
  return step.kernel->Launch(
      {.inputs = {locations, planned.inputs.size()},
       .outputs = {outputs, planned.outputs.size()},
       .packed = step.packed,
       .workspace = args.memory.bytes(step.device, memory_.workspaces[index]),
       .stream = *stream});
}

Result<int64_t> Program::StepNs(size_t index, int64_t begin, const RunArgs& args) const {
  const Step& step = steps_[index];
  if (!args.waits_for_steps || step.device == 0 || step.nothing_to_do) return NowNs() - begin;
  Stream& stream = StreamOf(step, args);
  RETURN_IF_ERROR(stream.Synchronise());
  const int64_t wall = NowNs() - begin, busy = stream.TakeBusyNs();
  return step.crosses_devices || busy < 0 ? wall : busy;
}

std::shared_ptr<const LaunchForm> Program::FormOf(size_t index, const RunArgs& args) const {
  const Step& step = steps_[index];
  if (!args.waits_for_steps || step.device == 0 || step.nothing_to_do) return nullptr;
  return std::make_shared<const LaunchForm>(StreamOf(step, args).TakeForm());
}

Status Program::RunSteps(const RunArgs& args) const {
  ArenaMarks marks(memory_.devices[0].blocks, args.memory.bytes(0, 0).host<std::byte>(),
                   memory_.devices[0].bytes);
  const DeviceMarks device_marks(memory_, args.memory, args.accelerators);
  RETURN_IF_ERROR(device_marks.BeginRun());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (IsSet(&args.cancelled) || IsSet(args.cancelled_by_caller)) return Cancelled();
    marks.Begin(i);
    RETURN_IF_ERROR(device_marks.Begin(i));
    if (args.chains != nullptr && (!graphs_.empty() || !plan_->chains.empty())) {
      ASSIGN_OR_RETURN(size_t end, RunChain(i, args));
      if (end == i) {
        ASSIGN_OR_RETURN(end, RunGraph(i, args));
      }
      if (end > i) {
        while (++i < end) marks.Begin(i);
        --i;
        continue;
      }
    }
    const int64_t begin = NowNs();
    if (!steps_[i].nothing_to_do) {
      const Status status = RunStep(i, args);
      if (!status.ok()) return status.WithContext(steps_[i].profile->node);
    }
    const Result<int64_t> ns = StepNs(i, begin, args);
    if (!ns.ok()) return ns.status().WithContext(steps_[i].profile->node);
    args.times->push_back({steps_[i].profile, *ns, FormOf(i, args)});
    if (!steps_[i].has_later_numbers) continue;
    args.times->back().numbers = numbers_;
    args.times->back().index = i;
  }
  for (const auto& stream : args.accelerators)
    if (args.waits_for_devices) RETURN_IF_ERROR(stream->Synchronise());
  return OkStatus();
}

Status Program::Run(const RunArgs& args) const {
  const SubnormalScope scope(args.stream.subnormals());
  const size_t steps_before = args.times->size();
  RETURN_IF_ERROR(RunSteps(args));
  ASSIGN_OR_RETURN(const bool met, ChainsMet(args));
  if (!met) {
    args.chains->GiveUp();
    args.times->resize(steps_before);
    RETURN_IF_ERROR(RunSteps(args));
  }
  RETURN_IF_ERROR(args.stream.Synchronise());
  return CopyOutputs(args);
}

Status Program::CopyOutputs(const RunArgs& args) const {
  for (int output : memory_.copied_outputs) {
    const int tensor = plan_->outputs[output];
    std::memcpy(args.outputs[output], Locate(tensor, args).host<std::byte>(), bytes_[tensor]);
  }
  return OkStatus();
}

}  // namespace fettle::exec
