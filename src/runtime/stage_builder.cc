// How a graph becomes a stage, and what follows it another graph.
#include <algorithm>

#include "ops/op.h"
#include "passes/specialise.h"
#include "runtime/stage.h"

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
      SetOutputs();
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

  void SetOutputs() {
    std::vector<int> users(stage_->program_output_types_.size());
    for (ir::ValueId id : graph_.outputs) {
      const Source& source = stage_->outputs_.emplace_back(SourceOf(id));
      if (source.kind == Source::Kind::kProgram) ++users[source.index];
    }
    for (Source& source : stage_->outputs_)
      source.is_shared = source.kind == Source::Kind::kProgram && users[source.index] > 1;
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

  /// Copies value `id` into `to`, once; where no other stage follows, what is not constant moves.
  ir::ValueId Import(ir::ValueId id, ir::Graph& to, IdVector<ir::ValueId, ir::ValueId>& map) {
    if (id == ir::kAbsent) return ir::kAbsent;
    ir::ValueId& copy = map[id];
    if (copy != ir::kAbsent) return copy;
    const bool moves = rest_.empty() && !graph_.value(id).is_constant();
    copy = moves ? to.AddValue(std::move(graph_.value(id))) : to.AddValue(graph_.value(id));
    return copy;
  }

  void ImportNode(ir::NodeId id, ir::Graph& to, IdVector<ir::ValueId, ir::ValueId>& map) {
    ir::Node node = rest_.empty() ? std::move(graph_.node(id)) : graph_.node(id);
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
    stage_->next_ = std::make_unique<BlockRunner>(std::move(rest), pinned);
  }

  ir::Graph graph_;
  Context& context_;
  std::unique_ptr<Stage> stage_;
  IdVector<ir::ValueId, Source> sources_;
  IdVector<ir::ValueId, bool> available_;
  std::vector<ir::NodeId> ready_, rest_;
  ir::ValueId needed_ = ir::kAbsent;
};

Result<std::unique_ptr<Stage>> Stage::Prepare(ir::Graph graph, Context& context,
                                              passes::PassHistory& passes) {
  RETURN_IF_ERROR(passes::Specialise(graph, nullptr, {}, &passes));
  return PrepareSwept(std::move(graph), context);
}

Result<std::unique_ptr<Stage>> Stage::PrepareSwept(ir::Graph graph, Context& context) {
  return Builder(std::move(graph), context).Build();
}

}  // namespace fettle::runtime
