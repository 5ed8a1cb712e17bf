#include "passes/repeated_sweep.h"

#include <algorithm>
#include <utility>

#include "ops/op.h"
#include "passes/clean/fold_integers.h"
#include "passes/clean/fold_node.h"
#include "passes/edit/equal_nodes.h"

namespace fettle::passes {
namespace {

template <typename Ids, typename Is>
bool All(const Ids& ids, const Is& is) {
  return std::ranges::all_of(ids, [&](ir::ValueId id) { return id == ir::kAbsent || is(id); });
}

/// Shape::CheckedElements has a value; quicker to know.
bool HasFewElements(const Shape& shape) {
  double elements = 1;
  for (const int64_t extent : shape) {
    if (extent <= 0) return shape.CheckedElements().has_value();
    elements *= static_cast<double>(extent);
  }
  return elements <= static_cast<double>(kMaxElements);
}

Status AnotherGraph(const ir::Node& node) {
  return Unsupported("{}: other nodes are left at these extents", ir::Describe(node));
}

}  // namespace

RepeatedSweep::RepeatedSweep(const ir::Graph& graph)
    : graph_(graph),
      folded_(graph.nodes().size()),
      follows_(graph.values().size()),
      changed_(graph.values().size()),
      rules_(graph.nodes().size()) {
  FindFed();
}

Status RepeatedSweep::Run(const std::vector<std::pair<DType, Shape>>& inputs) {
  // After a failure nobody knows what the graph holds.
  visits_all_ = !std::exchange(is_good_, false);
  changed_.assign(changed_.size(), visits_all_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Value& value = graph_.value(graph_.inputs[i]);
    if (has_run_ && value.dtype != inputs[i].first) return Unsupported("an input of another type");
    if (has_run_ && value.shape->rank() != inputs[i].second.rank())
      return Unsupported("an input of another rank");
    value.dtype = inputs[i].first;
    if (value.shape == inputs[i].second) continue;
    value.shape = inputs[i].second;
    changed_[graph_.inputs[i]] = true;
  }
  if (has_run_) {
    for (ir::NodeId id : fed_) RETURN_IF_ERROR(Visit(id));
  } else {
    for (ir::NodeId id : graph_.nodes().ids()) RETURN_IF_ERROR(Visit(id));
    FindLive();
  }
  has_run_ = is_good_ = true;
  return OkStatus();
}

Status RepeatedSweep::Visit(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  if (!has_run_ && node.op->Has(ir::Trait::kControl)) return Unsupported("control flow");
  if (!visits_all_ && All(node.inputs, [&](ir::ValueId value) { return !changed_[value]; }))
    return OkStatus();
  if (has_run_ && folded_[id]) return FoldAgain(id);
  if (!has_run_) {
    ASSIGN_OR_RETURN(const bool folds, Fold(id));
    folded_[id] = folds;
    if (folds) return OkStatus();
  }
  if (TakeExtents(id)) return OkStatus();
  return InferNode(id);
}

bool RepeatedSweep::TakeExtents(ir::NodeId id) {
  const Rule& rule = rules_[id];
  if (rule.rule == nullptr) return false;
  const ir::Node& node = graph_.node(id);
  inputs_.clear();
  for (ir::ValueId value : node.inputs)
    inputs_.push_back(value == ir::kAbsent ? nullptr : &*graph_.value(value).shape);
  if (!rule.rule->At(inputs_, output_) || !HasFewElements(output_)) return false;
  Shape& shape = *graph_.value(node.outputs[0]).shape;
  if (shape == output_) return true;
  std::swap(shape, output_);
  changed_[node.outputs[0]] = true;
  return true;
}

Status RepeatedSweep::FoldAgain(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  // What folds of constants that are always the same is there already.
  if (All(node.outputs, [&](ir::ValueId value) { return !follows_[value]; })) return OkStatus();
  std::vector<std::shared_ptr<const Constant>> before;
  for (ir::ValueId value : node.outputs)
    before.push_back(value == ir::kAbsent ? nullptr : graph_.value(value).constant);
  ASSIGN_OR_RETURN(const bool folds, Fold(id));
  if (!folds) return AnotherGraph(node);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == nullptr) continue;
    std::shared_ptr<const Constant>& now = graph_.value(node.outputs[i]).constant;
    if (before[i]->shape().rank() != now->shape().rank()) return AnotherGraph(node);
    if (SameConstant(*before[i], *now)) {
      now = before[i];
    } else {
      changed_[node.outputs[i]] = true;
    }
  }
  return OkStatus();
}

Result<bool> RepeatedSweep::Fold(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  const auto follow = [&] {
    for (ir::ValueId value : node.outputs)
      if (value != ir::kAbsent && !std::exchange(follows_[value], true))
        following_.push_back(value);
    return true;
  };
  if (FoldShape(graph_, node)) return follow();
  if (!All(node.inputs, [&](ir::ValueId value) { return graph_.value(value).is_constant(); }))
    return false;
  if (has_run_ && FoldIntegers(graph_, node)) return true;
  ASSIGN_OR_RETURN(const ops::Inferred inferred, ops::Infer(graph_, node));
  if (inferred.needed_input >= 0 || !FoldData(graph_, node, inferred)) return false;
  return All(node.inputs, [&](ir::ValueId value) { return !follows_[value]; }) ? true : follow();
}

Status RepeatedSweep::InferNode(ir::NodeId id) {
  const ir::Node& node = graph_.node(id);
  ASSIGN_OR_RETURN(ops::Inferred inferred, ops::Infer(graph_, node));
  if (inferred.needed_input >= 0) return Unsupported("{}: waits for data", ir::Describe(node));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kAbsent) continue;
    ir::Value& value = graph_.value(node.outputs[i]);
    ops::InferContext::Output& output = inferred.outputs[i];
    if (!output.shape.IsConcrete()) return AnotherGraph(node);
    if (has_run_ && (value.dtype != output.dtype || value.shape->rank() != output.shape.rank()))
      return AnotherGraph(node);
    value.dtype = output.dtype;
    if (value.shape == output.shape) continue;
    value.shape = std::move(output.shape);
    changed_[node.outputs[i]] = true;
  }
  if (!std::exchange(rules_[id].was_sought, true))
    rules_[id].rule = ops::ExtentRuleOf(graph_, node);
  return OkStatus();
}

void RepeatedSweep::FindLive() {
  std::vector<bool> needed(graph_.values().size());
  for (ir::ValueId id : graph_.outputs) needed[id] = true;
  for (auto id = static_cast<ir::NodeId>(graph_.nodes().size()); id-- > 0;) {
    const ir::Node& node = graph_.node(id);
    if (folded_[id] || All(node.outputs, [&](ir::ValueId value) { return !needed[value]; }))
      continue;
    live_.push_back(id);
    for (ir::ValueId value : node.inputs)
      if (value != ir::kAbsent) needed[value] = true;
  }
  std::ranges::reverse(live_);
}

void RepeatedSweep::FindFed() {
  std::vector<char> is_fed(graph_.values().size());
  for (ir::ValueId id : graph_.inputs) is_fed[id] = true;
  for (ir::NodeId id : graph_.nodes().ids()) {
    const ir::Node& node = graph_.node(id);
    if (std::ranges::none_of(
            node.inputs, [&](ir::ValueId value) { return value != ir::kAbsent && is_fed[value]; }))
      continue;
    fed_.push_back(id);
    for (ir::ValueId value : node.outputs)
      if (value != ir::kAbsent) is_fed[value] = true;
  }
}

Result<ir::Graph> RepeatedSweep::Live() const {
  ir::Graph graph = graph_;
  for (ir::NodeId id : graph.nodes().ids()) graph.node(id).dead = true;
  for (ir::NodeId id : live_) graph.node(id).dead = false;
  RETURN_IF_ERROR(graph.Normalise());
  return graph;
}

}  // namespace fettle::passes
