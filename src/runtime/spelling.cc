#include "runtime/spelling.h"

#include <algorithm>

#include "ops/macs.h"
#include "ops/op.h"
#include "passes/edit/equal_nodes.h"
#include "passes/outline.h"

namespace fettle::runtime {
namespace {

/// What passes may save of arithmetic, and of bytes, before it is worth having: more where it is
/// little beside planning, which takes tens of microseconds for each node.
constexpr double kWorth = 1.02, kWorthOfLittle = 1.1;
constexpr double kFewMacs = 4e4, kFewBytes = 2e4;  // of a node

/// Multiply-adds and elements that the scalar reference takes tens of microseconds for.
constexpr double kLongReference = 4096;

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

/// Whether `as_it_is` is about as good as `least`, which would save little if it saved `few`.
bool IsNear(double as_it_is, double least, double few) {
  return as_it_is <= (as_it_is - least <= few ? kWorthOfLittle : kWorth) * least;
}

}  // namespace

bool IsLongReference(const ir::Graph& graph, const ir::Node& node) {
  auto work = static_cast<double>(ops::MacsOf(graph, node));
  for (ir::ValueId id : node.outputs)
    if (id != ir::kAbsent) work += static_cast<double>(graph.value(id).shape->elements());
  return work >= kLongReference;
}

bool IsNearlyAsGood(const ir::Graph& live, const ir::Graph& best) {
  const Costs as_it_is = CostsOf(live), least = CostsOf(best);
  const auto nodes = static_cast<double>(live.nodes().size());
  return IsNear(as_it_is.macs, least.macs, nodes * kFewMacs) &&
         IsNear(as_it_is.bytes, least.bytes, nodes * kFewBytes);
}

int LongReferencesOf(const exec::Plan& plan) {
  return static_cast<int>(std::ranges::count_if(plan.steps, [](const exec::PlannedStep& step) {
    if (step.kernel == nullptr || !step.kernel->is_reference()) return false;
    const ir::Graph& group = *step.problem.group;
    return std::ranges::any_of(group.nodes(),
                               [&](const ir::Node& node) { return IsLongReference(group, node); });
  }));
}

std::vector<ir::NodeId> ReferencesOf(const exec::Plan& plan, const ir::Graph& graph,
                                     std::span<const ir::ValueId> values) {
  std::vector<bool> written(graph.values().size());
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.kernel == nullptr || !step.kernel->is_reference()) continue;
    for (const ir::Node& node : step.problem.group->nodes()) {
      for (ir::ValueId id : node.outputs) {
        if (id == ir::kAbsent || static_cast<size_t>(id) >= step.values.size()) continue;
        const ir::ValueId in_graph = values[step.values[id]];
        if (in_graph != ir::kAbsent) written[in_graph] = true;
      }
    }
  }
  std::vector<ir::NodeId> nodes;
  for (ir::NodeId id : graph.nodes().ids()) {
    const std::vector<ir::ValueId>& outputs = graph.node(id).outputs;
    if (std::ranges::any_of(outputs, [&](ir::ValueId x) { return x != ir::kAbsent && written[x]; }))
      nodes.push_back(id);
  }
  return nodes;
}

exec::Extents ExtentsOf(const ir::Graph& graph) {
  exec::Extents extents;
  for (const ir::Value& value : graph.values()) {
    if (value.shape && !value.is_constant())
      extents.insert(extents.end(), value.shape->dims().begin(), value.shape->dims().end());
  }
  return extents;
}

bool AreSpeltAlike(const ir::Graph& a, const ir::Graph& b) {
  if (passes::Outline(a).structure != passes::Outline(b).structure) return false;
  for (ir::NodeId id : a.nodes().ids())
    if (!passes::SameAttributes(a.node(id).attributes, b.node(id).attributes)) return false;
  return true;
}

}  // namespace fettle::runtime
