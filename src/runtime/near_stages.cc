#include "runtime/near_stages.h"

#include <algorithm>

#include "base/log.h"
#include "ops/macs.h"
#include "ops/op.h"
#include "passes/edit/equal_nodes.h"
#include "passes/outline.h"
#include "passes/specialise.h"
#include "runtime/graph_runner.h"

namespace fettle::runtime {
namespace {

constexpr size_t kMostExamples = 16, kMostTried = 2;
/// How many times as large or small any extent may be.
constexpr double kFarthest = 1024;
/// How much farther an example is where one of an extent of it and the shape's is 1.
constexpr double kOfOtherOnes = 4;
/// What passes may save of arithmetic, and of bytes, before it is worth having: more where it is
/// little beside planning, which takes tens of microseconds for each node.
constexpr double kWorth = 1.02, kWorthOfLittle = 1.1;
constexpr double kFewMacs = 4e4, kFewBytes = 2e4;  // of a node

struct Costs {
  double macs = 0, bytes = 0;
};

double BytesOf(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  double bytes = 0;
  for (ir::ValueId id : ids)
    if (id != ir::kAbsent && graph.value(id).has_concrete_shape())
      bytes += static_cast<double>(
          StorageBytes(graph.value(id).dtype, graph.value(id).shape->elements()));
  return bytes;
}

/// Without convolutions of one channel each, whose kernels leave out taps that read padding as the
/// pass does that cuts them off, and without views. Lookups read little of what they look into.
Costs CostsOf(const ir::Graph& graph) {
  Costs costs;
  for (const ir::Node& node : graph.nodes()) {
    const auto macs = static_cast<double>(ops::MacsOf(graph, node));
    if (node.op != "Conv"_op || node.attributes.Int("group", 1) == 1) costs.macs += macs;
    if (node.op->Has(ir::Trait::kKeepsBytes)) continue;
    costs.bytes += BytesOf(graph, node.outputs);
    if (macs > 0) costs.bytes += BytesOf(graph, node.inputs);
  }
  return costs;
}

/// What the values of `graph` are in that of `sweep`, whose live nodes are those of `graph`.
std::vector<ir::ValueId> ValuesOf(const ir::Graph& graph, const passes::RepeatedSweep& sweep) {
  std::vector<ir::ValueId> values(graph.values().size(), ir::kAbsent);
  const auto pair = [&](const std::vector<ir::ValueId>& ids,
                        const std::vector<ir::ValueId>& in_sweep) {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids[i] != ir::kAbsent) values[ids[i]] = in_sweep[i];
  };
  pair(graph.inputs, sweep.graph().inputs);
  for (size_t i = 0; i < sweep.live().size(); ++i) {
    const ir::Node& node = sweep.graph().node(sweep.live()[i]);
    pair(graph.node(static_cast<ir::NodeId>(i)).inputs, node.inputs);
    pair(graph.node(static_cast<ir::NodeId>(i)).outputs, node.outputs);
  }
  return values;
}

/// Of all that is computed.
double ElementsOf(const ir::Graph& graph) {
  double elements = 0;
  for (const ir::Value& value : graph.values())
    if (value.shape && !value.is_constant())
      elements += static_cast<double>(value.shape->elements());
  return elements;
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

/// Whether `as_it_is` is about as good as `least`, which would save little if it saved `few`.
bool IsNear(double as_it_is, double least, double few) {
  return as_it_is <= (as_it_is - least <= few ? kWorthOfLittle : kWorth) * least;
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
  extents_ = Extents();
  elements_ = ElementsOf(sweep_->graph());
  const auto near = NearExamples(context.limits);
  for (size_t i = 0; i < std::min(near.size(), kMostTried); ++i) {
    Result<std::unique_ptr<Stage>> stage = MakeLike(*near[i].second, context);
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

Status NearStages::Sweep(std::span<const Tensor> inputs) {
  if (!sweep_) sweep_.emplace(*graph_);
  return sweep_->Run(TypesOf(inputs));
}

std::shared_ptr<const exec::Extents> NearStages::Extents() const {
  exec::Extents extents;
  extents.reserve(extents_ == nullptr ? 0 : extents_->size());
  for (const ir::Value& value : sweep_->graph().values()) {
    if (!value.shape) continue;
    for (const int64_t extent : value.shape->dims()) extents.push_back(extent);
  }
  return std::make_shared<const exec::Extents>(std::move(extents));
}

exec::NearGraph NearStages::NearTo(const Example& example) const {
  const ir::Graph& graph = sweep_->graph();
  exec::NearGraph near{&graph, extents_, std::vector<bool>(graph.values().size()),
                       elements_ / std::max(example.elements, 1.0)};
  for (ir::ValueId id : graph.values().ids())
    near.other_constant[id] =
        sweep_->follows()[id] &&
        !passes::SameConstant(*example.constants[id], *graph.value(id).constant);
  return near;
}

Result<std::unique_ptr<Stage>> NearStages::MakeLike(Example& example, Context& context) {
  return Stage::Like(*example.stage, *example.programs, NearTo(example), example.values, context,
                     std::move(spare_));
}

Result<bool> NearStages::IsWellSpelt(const ir::Graph& live, passes::PassHistory& passes) const {
  ir::Graph best = live;
  RETURN_IF_ERROR(passes::Specialise(best, nullptr, {}, &passes));
  const Costs as_it_is = CostsOf(live), least = CostsOf(best);
  const auto nodes = static_cast<double>(live.nodes().size());
  return IsNear(as_it_is.macs, least.macs, nodes * kFewMacs) &&
         IsNear(as_it_is.bytes, least.bytes, nodes * kFewBytes);
}

Result<std::unique_ptr<Stage>> NearStages::MakeExample(Context& context,
                                                       passes::PassHistory& passes) {
  ASSIGN_OR_RETURN(ir::Graph live, sweep_->Live());
  ASSIGN_OR_RETURN(const bool well_spelt, IsWellSpelt(live, passes));
  if (!well_spelt) return Unsupported("passes that see extents are worth their time");
  ASSIGN_OR_RETURN(std::unique_ptr<Stage> made, Stage::PrepareSwept(std::move(live), context));
  const ir::Graph* const segment = made->OnlySegment();
  if (segment == nullptr || segment->nodes().size() != sweep_->live().size())
    return Unsupported("more than one program");
  Example example{
      .extents = extents_, .elements = elements_, .limits = context.limits, .last_use = uses_};
  for (const ir::Value& value : sweep_->graph().values())
    example.constants.push_back(value.constant);
  example.values = ValuesOf(*segment, *sweep_);
  example.stage = made->Example();
  example.programs = std::make_shared<exec::NearPrograms>(
      made->program(), example.values, exec::NearGraph{&sweep_->graph(), extents_, {}},
      context.limits.threads);
  if (examples_.size() == kMostExamples)
    examples_.erase(std::ranges::min_element(examples_, {}, &Example::last_use));
  examples_.push_back(std::move(example));
  return made;
}

}  // namespace fettle::runtime
