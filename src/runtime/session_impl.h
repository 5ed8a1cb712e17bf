// What a session does, on the devices that it has.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "runtime/context.h"
#include "runtime/graph_runner.h"
#include "runtime/lane_choice.h"
#include "runtime/loop_times.h"
#include "runtime/plan_accuracy.h"
#include "runtime/session.h"
#include "runtime/session_parts.h"

namespace fettle::runtime {

class Session::Impl {
 public:
  Impl(std::shared_ptr<const Model> model, std::shared_ptr<const ir::Graph> graph,
       const SessionOptions& options, int threads, std::shared_ptr<ThreadPool> pool,
       std::vector<std::unique_ptr<Stream>> accelerator_streams,
       std::shared_ptr<MemoryBudget> budget)
      : model_(std::move(model)),
        graph_(graph),
        inputs_(graph_),
        cpu_(std::move(pool)),
        accelerators_(options.accelerators),
        plans_(PlansFor(*model_, options)),
        context_{.devices = DeviceSet(cpu_, options.beside_cpu()),
                 .packed = model_->packed(),
                 .limits = LimitsOf(options, threads),
                 .plans = *plans_,
                 .max_preparations = options.max_preparations,
                 .stream = CpuStream(cpu_, threads, options.subnormals),
                 .accelerators = std::move(accelerator_streams),
                 .waits_for_steps = options.waits_for_steps,
                 .cancelled_by_caller = options.cancelled},
        runner_(std::make_unique<GraphRunner>(graph_, context_)),
        lanes_(threads, options.adapts_lanes),
        cpu_alone_(accelerators_.empty()),
        extra_outputs_(options.extra_outputs),
        budget_(std::move(budget)),
        judges_next_run_(options.judges_first_run &&
                         options.precision != planner::Precision::kHigh) {}

  Status Prepare(const std::map<std::string, Shape>& shapes) {
    TensorMap inputs;
    for (ir::ValueId id : graph_->inputs) {
      const ir::Value& input = graph_->value(id);
      const auto shape = shapes.find(input.name);
      if (shape == shapes.end()) continue;
      // Preparation reads shapes only, so no bytes stand behind these tensors.
      inputs.emplace(input.name, Tensor::Borrow(input.dtype, shape->second, nullptr));
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> ordered, inputs_.InOrder(inputs));
    return runner_->Prepare(ordered);
  }

  Status PrepareOn(const BufferMap& inputs, const BufferMap& outputs) {
    context_.outputs_are_bound = !outputs.empty();
    std::map<std::string, Shape> shapes;
    for (const auto& [name, buffer] : inputs) shapes.emplace(name, buffer->shape());
    RETURN_IF_ERROR(Prepare(shapes));
    ASSIGN_OR_RETURN(const Bindings bindings, BindingsOf(*graph_, inputs, outputs));
    ASSIGN_OR_RETURN(const std::vector<Tensor> ordered, inputs_.InOrder(HostTensorsOf(inputs)));
    return CanBind(ordered, bindings).status();
  }

  Status RunOn(const BufferMap& inputs, const BufferMap& outputs, TensorMap* results) {
    context_.outputs_are_bound = !outputs.empty();
    const Status status = RunHeld(inputs, outputs, results);
    ordered_.clear();
    holds_.Release();
    return status;
  }

  Status Run(const TensorMap& inputs, TensorMap* outputs) {
    context_.outputs_are_bound = false;
    RETURN_IF_ERROR(RunPlans(inputs, outputs));
    if (!std::exchange(judges_next_run_, false) || !RoundedUnmeasured()) return OkStatus();
    const planner::AccuracyLimits limits = LimitsFor(model_->graph(), context_.limits.precision);
    ASSIGN_OR_RETURN(const TensorMap want, RunExactly(inputs));
    planner::PlanAccuracy accuracy = CompareOutputs(*outputs, want, limits);
    if (accuracy.ok) return OkStatus();
    Log(LogLevel::kWarn,
        "{}: values rounded to 16 bits lose too much before tuning ({}): computes in f32",
        model_->name(), accuracy.reason);
    context_.limits.precision = planner::Precision::kHigh;
    runner_ = std::make_unique<GraphRunner>(graph_, context_);
    RETURN_IF_ERROR(RunPlans(inputs, outputs));
    accuracy = CompareOutputs(*outputs, want, limits);
    return accuracy.ok ? OkStatus() : LeaveWrongDevices(accuracy.reason, inputs, outputs);
  }

  int64_t host_ns() const {
    int64_t ns = own_ns_;
    for (const exec::StepTime& time : context_.times)
      if (time.step->device == "cpu") ns -= time.ns;
    return ns;
  }

  const std::vector<exec::StepProfile>& profile() {
    if (profile_.empty()) {
      for (const exec::StepTime& time : context_.times) profile_.push_back(ProfileOf(time));
    }
    return profile_;
  }

  void Cancel() { context_.cancelled = true; }
  /// From now on SessionOptions::cancelled is this one.
  void SetCancelledBy(const std::atomic<bool>* cancelled) {
    context_.cancelled_by_caller = cancelled;
  }
  const Context& context() const { return context_; }
  const Model& model() const { return *model_; }
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }

  /// The last run: a device beside the CPU may have nothing to do, or may have failed.
  bool RanOnCpuAlone() const {
    const auto cpu = DeviceKindName(DeviceKind::kCpu);
    return std::ranges::all_of(
        context_.times, [&](const exec::StepTime& time) { return time.step->device == cpu; });
  }

 private:
  /// RunOn, of tensors that are held from then on.
  Status RunHeld(const BufferMap& inputs, const BufferMap& outputs, TensorMap* results) {
    RETURN_IF_ERROR(holds_.Take(inputs, outputs));
    RETURN_IF_ERROR(Order(inputs, outputs));
    const Bindings& bindings = last_.bindings();
    const std::span<const Tensor> ordered = bindings.has_all_outputs() ? views_ : ordered_;
    // What a first run is judged by are tensors of the host.
    ASSIGN_OR_RETURN(const bool in_place, CanBind(ordered, bindings));
    if (in_place) {
      const Status status = RunPlans(ordered, bindings, results);
      if (status.ok()) return OkStatus();
      ASSIGN_OR_RETURN(const bool still, CanBind(ordered, bindings));
      if (still) return status;  // else the CPU computes from now on
    }
    return RunThroughMaps(inputs, outputs, results);
  }

  /// Sets last_, and the inputs in order.
  Status Order(const BufferMap& inputs, const BufferMap& outputs) {
    if (!last_.AreOf(inputs, outputs)) {
      ASSIGN_OR_RETURN(Bindings bindings, BindingsOf(*graph_, inputs, outputs));
      RETURN_IF_ERROR(inputs_.InOrder(HostTensorsOf(inputs)).status());
      last_.Set(*graph_, inputs, outputs, std::move(bindings));
      views_.clear();
      for (const TensorBuffer* buffer : last_.inputs()) {
        const Tensor& host = buffer->host();
        views_.push_back(Tensor::Borrow(host.dtype(), host.shape(), host.data()));
      }
    }
    if (last_.bindings().has_all_outputs()) return OkStatus();
    for (const TensorBuffer* buffer : last_.inputs()) ordered_.push_back(buffer->host());
    return OkStatus();
  }

  /// Whether a run of `ordered` may work on `bindings` in place.
  Result<bool> CanBind(std::span<const Tensor> ordered, const Bindings& bindings) {
    const bool usable =
        std::all_of(bindings.outputs.begin(), bindings.outputs.end(), [](const auto* buffer) {
          return buffer == nullptr || buffer->device() != nullptr || buffer->recyclable();
        });
    if (judges_next_run_ || !usable) return false;
    return runner_->CanBind(ordered, bindings);
  }

  Status RunThroughMaps(const BufferMap& inputs, const BufferMap& outputs, TensorMap* results) {
    TensorMap tensors;
    for (const auto& [name, buffer] : inputs) {
      ASSIGN_OR_RETURN(Tensor tensor, buffer->ReadToHost());
      tensors.emplace(name, std::move(tensor));
    }
    RETURN_IF_ERROR(Run(tensors, results));
    for (const auto& [name, buffer] : outputs) {
      const auto result = results->find(name);
      RETURN_IF_ERROR(CheckOutput(name, *buffer, result->second.dtype(), result->second.shape()));
      RETURN_IF_ERROR(buffer->WriteFromHost(result->second));
      results->erase(result);
    }
    return OkStatus();
  }

  Status RunPlans(const TensorMap& inputs, TensorMap* outputs) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> ordered, inputs_.InOrder(inputs));
    return RunPlans(ordered, {}, outputs);
  }

  /// `outputs`: those that are not bound.
  Status RunPlans(std::span<const Tensor> ordered, const Bindings& bindings, TensorMap* outputs) {
    outputs->clear();
    profile_.clear();
    context_.times.clear();
    context_.cancelled = false;
    const int64_t begin = NowNs(), waited = WaitedNs();
    context_.stream.set_threads(cpu_alone_ ? lanes_.Begin(ordered) : context_.limits.threads);
    Result<std::vector<Tensor>> results = runner_->Run(ordered, bindings);
    own_ns_ = NowNs() - begin - (WaitedNs() - waited);
    if (!results.ok()) return results.status();
    if (cpu_alone_) lanes_.End(NowNs() - begin, StepsRun(context_.times));
    if (!accelerators_.empty()) cpu_alone_ = RanOnCpuAlone();
    for (size_t i = 0; i < results->size(); ++i) {
      if (i < bindings.outputs.size() && bindings.outputs[i] != nullptr) continue;
      outputs->emplace(graph_->value(graph_->outputs[i]).name, std::move((*results)[i]));
    }
    return OkStatus();
  }

  bool RoundedUnmeasured() const {
    const auto rounds = [](const exec::StepTime& time) { return RoundsTo16Bits(*time.step); };
    return context_.has_default_plans &&
           std::any_of(context_.times.begin(), context_.times.end(), rounds);
  }

  /// What is wrong in f32 too is no matter of precision: a driver miscompiled, say.
  Status LeaveWrongDevices(std::string_view reason, const TensorMap& inputs, TensorMap* outputs) {
    if (accelerators_.empty()) return OkStatus();
    std::string names;
    for (const auto& device : accelerators_)
      names += fmt::format("{}'{}'", names.empty() ? "" : " or ", device->name());
    if (context_.limits.accelerator_only)
      return Error(StatusCode::kDeviceError, "{}: {} computes other values than the CPU: {}",
                   model_->name(), names, reason);
    Log(LogLevel::kWarn, "{}: {} computes other values than the CPU ({}): the CPU computes instead",
        model_->name(), names, reason);
    context_.devices = DeviceSet(cpu_);
    runner_ = std::make_unique<GraphRunner>(graph_, context_);
    return RunPlans(inputs, outputs);
  }

  /// What the CPU computes in f32.
  Result<TensorMap> RunExactly(const TensorMap& inputs) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> exact,
                     Session::Create(model_, {.threads = context_.limits.threads,
                                              .extra_outputs = extra_outputs_,
                                              .subnormals = context_.stream.subnormals(),
                                              .max_memory = budget_ ? budget_->limit() : 0}));
    TensorMap want;
    RETURN_IF_ERROR(exact->Run(inputs, &want));
    if (context_.cancelled) return Error(StatusCode::kCancelled, "cancelled");
    return want;
  }

  int64_t WaitedNs() const {
    int64_t ns = 0;
    for (const auto& stream : context_.accelerators) ns += stream->waited_ns();
    return ns;
  }

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const ir::Graph> graph_;
  RunInputs inputs_;
  CpuDevice cpu_;
  std::vector<std::shared_ptr<const Device>> accelerators_;
  std::shared_ptr<planner::PlanSource> plans_;
  Context context_;
  std::unique_ptr<GraphRunner> runner_;
  LastTensors last_;
  std::vector<Tensor> ordered_;  // the inputs of a RunOn in progress, whose outputs may share bytes
  std::vector<Tensor> views_;    // the inputs of last_, where no output is the session's: not kept
  RunHolds holds_;               // its tensors
  RunLanes lanes_;
  bool cpu_alone_;  // as far as runs have shown
  std::vector<std::string> extra_outputs_;
  std::shared_ptr<MemoryBudget> budget_;  // null: the process's
  bool judges_next_run_;
  std::vector<exec::StepProfile> profile_;
  int64_t own_ns_ = 0;  // of the last run, without waiting
};

}  // namespace fettle::runtime
