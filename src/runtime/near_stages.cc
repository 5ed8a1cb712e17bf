#include "runtime/near_stages.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/log.h"
#include "passes/edit/equal_nodes.h"
#include "passes/outline.h"
#include "passes/pipeline.h"
#include "passes/specialise.h"
#include "runtime/graph_runner.h"
#include "runtime/spelling.h"

namespace fettle::runtime {
namespace {

constexpr size_t kMostExamples = 16, kMostTried = 2;
/// How many times as large or small any extent may be.
constexpr double kFarthest = 1024;
/// How much farther an example is where one of an extent of it and the shape's is 1.
constexpr double kOfOtherOnes = 4;
/// How many shapes of other ones show that more will come. In a row: the words behind a prompt.
/// In all, of batches that are one now and then: what planning once takes, others took by then.
constexpr int kOnesInARow = 4, kOnesInAll = 32;
constexpr size_t kMostOnes = 64;
/// What the values of `graph` are in `other`, whose nodes `live` are those of `graph`.
std::vector<ir::ValueId> ValuesOf(const ir::Graph& graph, const ir::Graph& other,
                                  std::span<const ir::NodeId> live) {
  std::vector<ir::ValueId> values(graph.values().size(), ir::kAbsent);
  const auto pair = [&](const std::vector<ir::ValueId>& ids,
                        const std::vector<ir::ValueId>& in_other) {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] != ir::kAbsent) values[ids[i]] = in_other[i];
  };
  pair(graph.inputs, other.inputs);
  for (size_t i = 0; i < live.size(); ++i) {
    const ir::Node& node = other.node(live[i]);
    pair(graph.node(static_cast<ir::NodeId>(i)).inputs, node.inputs);
    pair(graph.node(static_cast<ir::NodeId>(i)).outputs, node.outputs);
  }
  return values;
}

int LongReferencesIn(const Stage& stage) {
  return stage.program() == nullptr ? 0 : LongReferencesOf(stage.program()->plan());
}

/// How far extents of one graph are from each other: the largest ratio (1: they are equal); 0 where
/// one is not near the other.
double DistanceOf(const exec::Extents& a, const exec::Extents& b) {
  double most = 1, ones = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto [least, greatest] = std::minmax(a[i], b[i]);
    if (least == 0) return 0;
    if (least == 1) ones = kOfOtherOnes;
    const double ratio = static_cast<double>(greatest) / static_cast<double>(least);
    if (ratio > kFarthest) return 0;
    most = std::max(most, ratio);
  }
  return most * ones;
}

/// Which extents of the inputs are 1.
std::vector<bool> OnesOf(const ir::Graph& graph) {
  std::vector<bool> ones;
  for (ir::ValueId id : graph.inputs)
    for (const int64_t extent : *graph.value(id).shape) ones.push_back(extent == 1);
  return ones;
}

/// Whether an input has an extent above 1 that the graph leaves open: most graphs are run at one
/// shape, and those that leave open how many inputs they take at once mostly at one.
bool OpensExtents(const ir::Graph& graph, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<Shape>& shape = graph.value(graph.inputs[i]).shape;
    for (int axis = 0; axis < inputs[i].shape().rank(); ++axis)
      if (inputs[i].shape()[axis] > 1 && (!shape || shape->rank() <= axis || (*shape)[axis] < 0))
        return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Stage> NearStages::Find(std::span<const Tensor> inputs, Context& context,
                                        passes::PassHistory& passes) {
  if (is_off_ || !context.plans.CarriesOver(context.devices, context.limits)) return nullptr;
  if (++uses_ == 1 && !OpensExtents(*graph_, inputs)) return nullptr;
  const Status swept = Sweep(inputs);
  if (!swept.ok()) {
    is_off_ = examples_.empty() && swept.code() == StatusCode::kUnsupported;
    if (examples_.empty()) sweep_.reset();
    return nullptr;
  }
  ReadExtents();
  spelt_ = {};
  const auto near = NearExamples(context.limits);
  if (IsOfOtherOnesAgain(near)) {
    Result<std::unique_ptr<Stage>> stage = MakeExample(context, passes);
    if (stage.ok()) return std::move(*stage);
  }
  for (size_t i = 0; i < std::min(near.size(), kMostTried); ++i) {
    Result<std::unique_ptr<Stage>> stage = MakeLike(*near[i].second, context, passes);
    near[i].second->last_use = uses_;
    if (stage.ok()) return std::move(*stage);
    Log(LogLevel::kInfo, "planned anew: {}", stage.status().message());
  }
  const double from_refused = DistanceFrom(refused_);
  if (from_refused > 0 && from_refused <= passes::kNearRatio) return nullptr;
  Result<std::unique_ptr<Stage>> stage = MakeExample(context, passes);
  if (stage.ok()) return std::move(*stage);
  const bool is_refused = stage.status().code() == StatusCode::kUnsupported;
  if (is_refused) refused_ = extents_;
  Log(LogLevel::kInfo, "shapes are planned each for itself: {}", stage.status().message());
  is_off_ = examples_.empty() && is_refused;
  return nullptr;
}

double NearStages::DistanceFrom(const std::shared_ptr<const exec::Extents>& extents) const {
  return extents == nullptr ? 0 : DistanceOf(*extents, *extents_);
}

std::vector<std::pair<double, NearStages::Example*>> NearStages::NearExamples(
    const planner::Limits& limits) {
  std::vector<std::pair<double, Example*>> near;
  for (Example& example : examples_) {
    if (example.limits != limits) continue;
    const double distance = DistanceFrom(example.extents);
    if (distance > 0) near.emplace_back(distance, &example);
  }
  std::ranges::sort(near);
  return near;
}

bool NearStages::IsOfOtherOnesAgain(std::span<const std::pair<double, Example*>> near) {
  std::vector<bool> ones = OnesOf(sweep_->graph());
  const bool are_known =
      std::ranges::any_of(near, [&](const auto& each) { return each.second->ones == ones; });
  if (are_known || near.empty() || ones != other_ones_) ones_in_a_row_ = 0;
  if (are_known || near.empty()) return false;
  if (times_of_ones_.size() == kMostOnes) times_of_ones_.clear();
  const int in_all = ++times_of_ones_[ones];
  other_ones_ = std::move(ones);
  return ++ones_in_a_row_ == kOnesInARow || in_all == kOnesInAll;
}

Status NearStages::Sweep(std::span<const Tensor> inputs) {
  if (sweep_) return sweep_->Run(TypesOf(inputs));
  sweep_.emplace(*graph_);
  RETURN_IF_ERROR(sweep_->Run(TypesOf(inputs)));
  if (!std::exchange(is_tidy_, true)) RETURN_IF_ERROR(TidyTyped());
  return sweep_->Run(TypesOf(inputs));
}

Status NearStages::TidyTyped() {
  for (ir::ValueId id : graph_->inputs)
    if (graph_->value(id).dtype == DType::kUndefined) return OkStatus();
  ir::Graph typed = *graph_;
  for (ir::ValueId id : typed.values().ids())
    typed.value(id).dtype = sweep_->graph().value(id).dtype;
  ASSIGN_OR_RETURN(const bool is_other, passes::OptimiseTyped(typed));
  if (!is_other) return OkStatus();
  graph_ = std::make_shared<const ir::Graph>(std::move(typed));
  sweep_.emplace(*graph_);
  return OkStatus();
}

void NearStages::ReadExtents() {
  exec::Extents extents(extents_ == nullptr ? 0 : extents_->size());
  size_t at = 0;
  elements_ = 0;
  for (const ir::Value& value : sweep_->graph().values()) {
    if (!value.shape || value.is_constant()) continue;
    const std::span<const int64_t> dims = value.shape->dims();
    if (at + dims.size() > extents.size()) extents.resize(2 * (at + dims.size()));
    int64_t elements = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      extents[at + i] = dims[i];
      elements *= dims[i];
    }
    at += dims.size();
    elements_ += static_cast<double>(elements);
  }
  extents.resize(at);
  extents_ = std::make_shared<const exec::Extents>(std::move(extents));
}

exec::NearGraph NearStages::NearTo(const Example& example) const {
  const ir::Graph& graph = sweep_->graph();
  exec::NearGraph near{&graph, extents_, std::vector<char>(graph.values().size()), false,
                       elements_ / std::max(example.elements, 1.0)};
  for (ir::ValueId id : sweep_->following()) {
    const bool is_other = !passes::SameConstant(*example.constants[id], *graph.value(id).constant);
    near.other_constant[id] = is_other;
    near.has_other_constants |= is_other;
  }
  return near;
}

Result<ir::Graph> NearStages::AfterPasses(const std::vector<bool>& chosen,
                                          passes::PassHistory& passes) const {
  ASSIGN_OR_RETURN(ir::Graph graph, sweep_->Live());
  passes::PassHistory* const history = chosen.empty() ? &passes : nullptr;
  RETURN_IF_ERROR(passes::Specialise(graph, nullptr, {.chosen = chosen}, history));
  return graph;
}

Result<const NearStages::Spelt*> NearStages::Spell(passes::PassHistory& passes) {
  if (spelt_.graph != nullptr) return &spelt_;
  ASSIGN_OR_RETURN(ir::Graph graph, AfterPasses(*spelling_, passes));
  SetSpelt(std::move(graph));
  return &spelt_;
}

void NearStages::SetSpelt(ir::Graph graph) {
  spelt_.extents = std::make_shared<const exec::Extents>(ExtentsOf(graph));
  spelt_.graph = std::make_shared<const ir::Graph>(std::move(graph));
}

Result<exec::NearGraph> NearStages::SpeltNearTo(const Example& example,
                                                passes::PassHistory& passes) {
  ASSIGN_OR_RETURN(const Spelt* spelt, Spell(passes));
  if (!AreSpeltAlike(*example.spelt, *spelt->graph))
    return Unsupported("passes make a different graph at these extents");
  exec::NearGraph near{spelt->graph.get(), spelt->extents,
                       std::vector<char>(spelt->graph->values().size()), false,
                       elements_ / std::max(example.elements, 1.0)};
  for (ir::ValueId id : spelt->graph->values().ids()) {
    const ir::Value& value = spelt->graph->value(id);
    const bool is_other =
        value.is_constant() &&
        !passes::SameConstant(*example.spelt->value(id).constant, *value.constant);
    near.other_constant[id] = is_other;
    near.has_other_constants |= is_other;
  }
  return near;
}

Result<std::unique_ptr<Stage>> NearStages::MakeLike(Example& example, Context& context,
                                                    passes::PassHistory& passes) {
  exec::NearGraph near;
  if (example.spelt == nullptr) {
    // What the reference computes of few elements soon, it may not of more.
    const bool is_long = std::ranges::any_of(example.references, [&](ir::NodeId id) {
      return IsLongReference(sweep_->graph(), sweep_->graph().node(id));
    });
    if (is_long) return Unsupported("the scalar reference would take long");
    near = NearTo(example);
  } else {
    ASSIGN_OR_RETURN(near, SpeltNearTo(example, passes));
  }
  return Stage::Like(*example.stage, *example.programs, near, example.values, context,
                     std::move(spare_));
}

Result<std::unique_ptr<Stage>> NearStages::MakeExample(Context& context,
                                                       passes::PassHistory& passes) {
  ASSIGN_OR_RETURN(const ir::Graph best, AfterPasses({}, passes));
  ASSIGN_OR_RETURN(ir::Graph live, sweep_->Live());
  std::unique_ptr<Stage> made;
  if (IsNearlyAsGood(live, best)) {
    ASSIGN_OR_RETURN(made, Stage::PrepareSwept(std::move(live), context));
    if (LongReferencesIn(*made) == 0) return KeepSwept(std::move(made), context);
  }
  if (!spelling_) {  // few passes leave graphs of more shapes alike
    spelling_ = passes::LoweringPasses();
    ASSIGN_OR_RETURN(const ir::Graph lowered, AfterPasses(*spelling_, passes));
    if (!IsNearlyAsGood(lowered, best)) spelling_->clear();
  }
  ASSIGN_OR_RETURN(const Spelt* spelt, Spell(passes));
  ASSIGN_OR_RETURN(std::unique_ptr<Stage> lowered,
                   Stage::PrepareSwept(ir::Graph(*spelt->graph), context));
  if (made != nullptr && LongReferencesIn(*lowered) >= LongReferencesIn(*made))
    return KeepSwept(std::move(made), context);
  std::vector<ir::NodeId> nodes(spelt->graph->nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  RETURN_IF_ERROR(KeepExample(*lowered, *spelt->graph, nodes, context.limits));
  examples_.back().spelt = spelt->graph;
  return lowered;
}

Result<std::unique_ptr<Stage>> NearStages::KeepSwept(std::unique_ptr<Stage> made,
                                                     const Context& context) {
  const ir::Graph& graph = sweep_->graph();
  RETURN_IF_ERROR(KeepExample(*made, graph, sweep_->live(), context.limits));
  examples_.back().references =
      ReferencesOf(made->program()->plan(), graph, examples_.back().values);
  // Of those that were long already, none was better.
  std::erase_if(examples_.back().references,
                [&](ir::NodeId id) { return IsLongReference(graph, graph.node(id)); });
  return made;
}

Status NearStages::KeepExample(const Stage& made, const ir::Graph& graph,
                               std::span<const ir::NodeId> live, const planner::Limits& limits) {
  const ir::Graph* const segment = made.OnlySegment();
  if (segment == nullptr || segment->nodes().size() != live.size())
    return Unsupported("more than one program");
  Example example{.extents = extents_, .elements = elements_, .limits = limits, .last_use = uses_};
  for (const ir::Value& value : graph.values()) example.constants.push_back(value.constant);
  example.ones = OnesOf(sweep_->graph());
  example.values = ValuesOf(*segment, graph, live);
  example.stage = made.Example();
  const auto extents = std::make_shared<const exec::Extents>(ExtentsOf(graph));
  example.programs = std::make_shared<exec::NearPrograms>(
      made.program(), example.values, exec::NearGraph{&graph, extents, {}}, limits.threads);
  if (examples_.size() == kMostExamples)
    examples_.erase(std::ranges::min_element(examples_, {}, &Example::last_use));
  examples_.push_back(std::move(example));
  return OkStatus();
}

}  // namespace fettle::runtime
