#include "runtime/stage.h"

#include <algorithm>

#include "base/log.h"
#include "ops/op.h"
#include "passes/specialise.h"

namespace fettle::runtime {

/// Splits a specialised graph into the program of a stage, the cut, and the rest.
class Stage::Builder {
 public:
  Builder(ir::Graph graph, Context& context)
      : graph_(std::move(graph)),
        context_(context),
        stage_(new Stage(context.devices)),
        sources_(graph_.values().size()) {}

  Result<std::unique_ptr<Stage>> Build() {
    MarkReady();
    RETURN_IF_ERROR(BuildProgram());
    if (rest_.empty()) {
      for (ir::ValueId id : graph_.outputs) stage_->outputs_.push_back(SourceOf(id));
      return std::move(stage_);
    }
    RETURN_IF_ERROR(BuildCut());
    BuildRest();
    return std::move(stage_);
  }

 private:
  Source SourceOf(ir::ValueId id) const {
    if (graph_.value(id).is_constant())
      return {Source::Kind::kConstant, 0, graph_.value(id).constant};
    return sources_[id];
  }

  bool Available(ir::ValueId id) const {
    return id == ir::kAbsent || graph_.value(id).is_constant() || available_[id];
  }

  /// A node is ready if its inputs are, its output shapes are known, and it runs no sub-graphs.
  void MarkReady() {
    available_.assign(graph_.values().size(), false);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      available_[graph_.inputs[i]] = true;
      sources_[graph_.inputs[i]] = {Source::Kind::kInput, i, nullptr};
    }
    for (ir::NodeId n : graph_.nodes().ids()) {
      const ir::Node& node = graph_.node(n);
      const bool inputs = std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ir::ValueId id) { return Available(id); });
      const bool shapes =
          std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
            return id == ir::kAbsent || graph_.value(id).has_concrete_shape();
          });
      if (node.op->Has(ir::Trait::kControl) || !inputs || !shapes) {
        rest_.push_back(n);
        continue;
      }
      ready_.push_back(n);
      for (ir::ValueId id : node.outputs) {
        if (id != ir::kAbsent) available_[id] = true;
      }
    }
  }

  /// Copies value `id` into `to`, once.
  ir::ValueId Import(ir::ValueId id, ir::Graph& to, IdVector<ir::ValueId, ir::ValueId>& map) const {
    if (id == ir::kAbsent) return ir::kAbsent;
    ir::ValueId& copy = map[id];
    if (copy == ir::kAbsent) copy = to.AddValue(graph_.value(id));
    return copy;
  }

  void ImportNode(ir::NodeId id, ir::Graph& to, IdVector<ir::ValueId, ir::ValueId>& map) const {
    ir::Node node = graph_.node(id);
    for (ir::ValueId& value : node.inputs) value = Import(value, to, map);
    for (ir::ValueId& value : node.outputs) value = Import(value, to, map);
    to.AddNode(std::move(node));
  }

  /// Values that ready nodes write and that the rest, or the caller, reads.
  std::vector<ir::ValueId> LiveResults() const {
    IdVector<ir::ValueId, bool> written(graph_.values().size()), listed(graph_.values().size());
    for (ir::NodeId n : ready_) {
      for (ir::ValueId id : graph_.node(n).outputs) {
        if (id != ir::kAbsent) written[id] = true;
      }
    }
    std::vector<ir::ValueId> live;
    const auto add = [&](ir::ValueId id) {
      if (id == ir::kAbsent || !written[id] || listed[id]) return;
      listed[id] = true;
      live.push_back(id);
    };
    for (ir::NodeId n : rest_) {
      for (ir::ValueId id : graph_.node(n).inputs) add(id);
    }
    for (ir::ValueId id : graph_.outputs) add(id);
    return live;
  }

  Status BuildProgram() {
    const std::vector<ir::ValueId> live = LiveResults();
    for (size_t i = 0; i < live.size(); ++i) {
      sources_[live[i]] = {Source::Kind::kProgram, i, nullptr};
      const ir::Value& value = graph_.value(live[i]);
      stage_->program_output_types_.emplace_back(value.dtype, *value.shape);
    }
    if (live.empty()) return OkStatus();
    auto made = std::make_shared<ir::Graph>();
    ir::Graph& segment = *made;
    IdVector<ir::ValueId, ir::ValueId> map(graph_.values().size(), ir::kAbsent);
    for (ir::ValueId id : graph_.inputs) segment.inputs.push_back(Import(id, segment, map));
    for (ir::NodeId n : ready_) ImportNode(n, segment, map);
    for (ir::ValueId id : live) segment.outputs.push_back(Import(id, segment, map));
    RETURN_IF_ERROR(segment.Normalise());
    stage_->segment_ = std::move(made);
    stage_->program_outputs_.resize(live.size());
    const Status planned = stage_->PlanOn(context_.devices, context_);
    return stage_->MayLeaveAccelerator(planned, context_)
               ? stage_->LeaveAccelerator(planned, context_)
               : planned;
  }

  /// The first node of the rest is what the stage ends for: a control node, or one that needs a
  /// value.
  Status BuildCut() {
    const ir::Node& node = graph_.node(rest_[0]);
    if (node.op->Has(ir::Trait::kControl)) {
      ASSIGN_OR_RETURN(stage_->control_, ControlNode::Create(node, context_));
      for (ir::ValueId id : node.inputs) {
        stage_->control_inputs_.push_back(
            id == ir::kAbsent ? Source{Source::Kind::kConstant, 0, nullptr} : SourceOf(id));
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == ir::kAbsent) continue;
        sources_[node.outputs[i]] = {Source::Kind::kControl, i, nullptr};
        available_[node.outputs[i]] = true;
      }
      rest_.erase(rest_.begin());
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const ops::Inferred inferred, ops::Infer(graph_, node));
    FETTLE_CHECK(inferred.needed_input >= 0, "a node is left over though its shape is known");
    needed_ = node.inputs[inferred.needed_input];
    return OkStatus();
  }

  void BuildRest() {
    auto rest = std::make_shared<ir::Graph>();
    IdVector<ir::ValueId, ir::ValueId> map(graph_.values().size(), ir::kAbsent);
    std::vector<bool> pinned;
    const auto add_input = [&](ir::ValueId id) {
      if (id == ir::kAbsent || graph_.value(id).is_constant() || !available_[id]) return;
      if (map[id] != ir::kAbsent) return;
      rest->inputs.push_back(Import(id, *rest, map));
      stage_->next_inputs_.push_back(SourceOf(id));
      pinned.push_back(id == needed_);
    };
    for (ir::NodeId n : rest_) {
      for (ir::ValueId id : graph_.node(n).inputs) add_input(id);
    }
    for (ir::ValueId id : graph_.outputs) add_input(id);
    for (ir::NodeId n : rest_) ImportNode(n, *rest, map);
    for (ir::ValueId id : graph_.outputs) rest->outputs.push_back(Import(id, *rest, map));
    stage_->next_ = std::make_unique<StageCache>(std::move(rest), std::move(pinned));
  }

  ir::Graph graph_;
  Context& context_;
  std::unique_ptr<Stage> stage_;
  IdVector<ir::ValueId, Source> sources_;
  IdVector<ir::ValueId, bool> available_;
  std::vector<ir::NodeId> ready_, rest_;
  ir::ValueId needed_ = ir::kAbsent;
};

Result<std::unique_ptr<Stage>> Stage::Prepare(ir::Graph graph, Context& context) {
  RETURN_IF_ERROR(passes::Specialise(graph));
  return Builder(std::move(graph), context).Build();
}

Status Stage::PlanOn(const DeviceSet& devices, Context& context) {
  devices_ = devices;
  planner::Limits limits = context.limits;
  if (devices.beside_cpu().empty()) limits.preferred = DeviceKind::kCpu;
  ASSIGN_OR_RETURN(exec::Plan plan, context.plans.PlanFor(*segment_, devices, limits));
  context.has_default_plans |= plan.is_default;
  ASSIGN_OR_RETURN(program_, exec::Program::Build(std::move(plan), devices, context.packed,
                                                  context.cancelled_by_caller));
  bound_programs_.clear();
  bound_ = nullptr;
  return context.memory.Reserve(program_->memory_plan(), devices);
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

Result<std::vector<Tensor>> Stage::ProgramOutputs(const Bindings& bindings) {
  const std::vector<const TensorBuffer*> bound = BoundOutputs(bindings);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < program_outputs_.size(); ++i) {
    if (bound[i] != nullptr) {
      outputs.push_back(bound[i]->host());
      continue;
    }
    Tensor& tensor = program_outputs_[i];
    // What another thread has let go of was last used before this.
    std::shared_ptr<std::byte>(tensor.storage()).reset();
    if (tensor.empty() || tensor.storage().use_count() > 1) {
      ASSIGN_OR_RETURN(
          tensor, Tensor::Create(program_output_types_[i].first, program_output_types_[i].second));
    }
    outputs.push_back(tensor);
  }
  return outputs;
}

Result<std::vector<Tensor>> Stage::RunProgram(std::span<const Tensor> inputs, Context& context,
                                              const Bindings& bindings) {
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, ProgramOutputs(bindings));
  const std::vector<const TensorBuffer*> bound = BoundOutputs(bindings);
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorBuffer* const buffer = bindings.inputs.empty() ? nullptr : bindings.inputs[i];
    in.push_back(buffer == nullptr ? inputs[i].data() : buffer->base());
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    out.push_back(bound[i] == nullptr ? outputs[i].data() : bound[i]->base());
  const size_t steps_before = context.times.size();
  const auto run = [&](const exec::Program& program) -> Status {
    RETURN_IF_ERROR(context.memory.Reserve(program.memory_plan(), devices_));
    return program.Run({.inputs = in,
                        .outputs = out,
                        .memory = context.memory,
                        .stream = context.stream,
                        .accelerators = context.accelerators,
                        .cancelled = context.cancelled,
                        .times = &context.times,
                        .waits_for_steps = context.waits_for_steps,
                        .cancelled_by_caller = context.cancelled_by_caller});
  };
  const bool on_device = bound_ != nullptr && bindings.on_device();
  Status status = run(on_device ? *bound_ : *program_);
  // Nobody reads what is on the device, so nobody has waited for it.
  for (const auto& stream : context.accelerators)
    if (status.ok() && on_device) status = stream->Synchronise();
  if (MayLeaveAccelerator(status, context)) {
    context.times.resize(steps_before);
    RETURN_IF_ERROR(LeaveAccelerator(status, context));
    if (on_device) return status;
    status = run(*program_);
  }
  RETURN_IF_ERROR(status);
  return outputs;
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

Result<std::vector<Tensor>> Stage::Run(std::span<const Tensor> inputs, Context& context,
                                       const Bindings& bindings) {
  Results results{inputs, {}, {}};
  if (program_ != nullptr) {
    ASSIGN_OR_RETURN(results.program, RunProgram(inputs, context, bindings));
  }
  const auto fetch_all = [&](const std::vector<Source>& sources) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> tensors;
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
  if (next_ == nullptr) return fetch_all(outputs_);
  ASSIGN_OR_RETURN(const std::vector<Tensor> next_inputs, fetch_all(next_inputs_));
  ASSIGN_OR_RETURN(Stage * next, next_->Get(next_inputs, context));
  return next->Run(next_inputs, context);
}

}  // namespace fettle::runtime
