#include "report/node_comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "device/cpu/cpu_device.h"
#include "exec/program.h"
#include "ops/op.h"
#include "passes/specialise.h"
#include "planner/assignment.h"
#include "planner/cover.h"
#include "planner/planner.h"

namespace fettle::tools {
namespace {

using ValueMap = std::map<ir::ValueId, Tensor>;

class Comparer {
 public:
  Comparer(ir::Graph graph, const runtime::Session& session, const Limits& limits)
      : graph_(std::move(graph)),
        limits_(limits),
        planned_(session.limits()),
        pool_(std::make_shared<ThreadPool>(planned_.threads)),
        cpu_(pool_),
        devices_(cpu_, session.devices().beside_cpu()),
        stream_(cpu_, planned_.threads, session.subnormals()) {}

  Result<NodeComparisons> Run(ValueMap values, const std::function<void(double)>& progress) {
    NodeComparisons result;
    for (const Device* device : devices_.beside_cpu()) {
      ASSIGN_OR_RETURN(accelerators_.emplace_back(), device->NewStream({}));
    }
    ASSIGN_OR_RETURN(const planner::Cover cover, planner::GreedyCover(graph_, devices_, planned_));
    ASSIGN_OR_RETURN(const std::vector<size_t> order, planner::ScheduleCover(graph_, cover));
    std::vector<int> readers = CountReaders(cover);
    for (size_t i = 0; i < order.size(); ++i) {
      const passes::Fragment& fragment = cover[order[i]].fragment;
      ASSIGN_OR_RETURN(NodeComparison comparison, CompareGroup(fragment, values));
      result.nodes.push_back(std::move(comparison));
      for (ir::ValueId id : fragment.inputs)
        if (--readers[static_cast<size_t>(id)] == 0) values.erase(id);
      progress(static_cast<double>(i + 1) / static_cast<double>(order.size()));
    }
    return result;
  }

 private:
  std::vector<int> CountReaders(const planner::Cover& cover) const {
    IdVector<ir::ValueId, int> readers(graph_.values().size());
    for (const planner::GroupChoices& group : cover)
      for (ir::ValueId id : group.fragment.inputs) ++readers[static_cast<size_t>(id)];
    return readers;
  }

  struct Computed {
    std::vector<Tensor> outputs;
    std::string kernels;
  };

  Result<Computed> Compute(const ir::Graph& group, const std::vector<Tensor>& inputs,
                           bool reference_only) {
    const DeviceSet devices = reference_only ? DeviceSet(cpu_) : devices_;
    const planner::Limits limits =
        reference_only ? planner::Limits{.threads = planned_.threads, .reference_only = true}
                       : planned_;
    ASSIGN_OR_RETURN(exec::Plan plan, planner::MakePlan(group, devices, limits));
    Computed computed;
    for (const exec::PlannedStep& step : plan.steps) {
      if (step.kernel == nullptr) continue;
      if (!computed.kernels.empty()) computed.kernels += '+';
      computed.kernels += step.kernel->name;
    }
    exec::PackedStore packed;
    ASSIGN_OR_RETURN(const auto program, exec::Program::Build(std::move(plan), devices, packed));
    exec::WorkMemory memory;
    RETURN_IF_ERROR(memory.Reserve(program->memory_plan(), devices));
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.data());
    for (ir::ValueId id : group.outputs) {
      const ir::Value& value = group.value(id);
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(value.dtype, *value.shape));
      out.push_back(tensor.data());
      computed.outputs.push_back(std::move(tensor));
    }
    const std::atomic<bool> cancelled = false;
    std::vector<exec::StepTime> times;
    RETURN_IF_ERROR(program->Run({.inputs = in,
                                  .outputs = out,
                                  .memory = memory,
                                  .stream = stream_,
                                  .accelerators = accelerators_,
                                  .cancelled = cancelled,
                                  .times = &times}));
    return computed;
  }

  Result<NodeComparison> CompareGroup(const passes::Fragment& fragment, ValueMap& values) {
    std::vector<Tensor> inputs;
    for (ir::ValueId id : fragment.inputs) inputs.push_back(values.at(id));
    ASSIGN_OR_RETURN(const Computed want, Compute(*fragment.graph, inputs, true));
    ASSIGN_OR_RETURN(const Computed got, Compute(*fragment.graph, inputs, false));
    NodeComparison comparison;
    for (const ir::Node& node : fragment.graph->nodes()) {
      comparison.node += (comparison.node.empty() ? "" : "+") + node.name;
      comparison.op += fmt::format("{}{}", comparison.op.empty() ? "" : "+", node.op);
    }
    comparison.kernel = got.kernels;
    comparison.judgement.ok = true;
    for (size_t i = 0; i < fragment.outputs.size(); ++i) {
      const Judgement judgement = Judge(got.outputs[i], want.outputs[i], limits_);
      const bool worse = comparison.value.empty() || (comparison.judgement.ok && !judgement.ok) ||
                         (comparison.judgement.ok == judgement.ok &&
                          judgement.difference.max_abs > comparison.judgement.difference.max_abs);
      if (worse) {
        comparison.value = graph_.value(fragment.outputs[i]).name;
        comparison.judgement = judgement;
      }
      values.insert_or_assign(fragment.outputs[i], want.outputs[i]);
    }
    return comparison;
  }

  ir::Graph graph_;
  Limits limits_;
  planner::Limits planned_;
  std::shared_ptr<ThreadPool> pool_;
  CpuDevice cpu_;
  DeviceSet devices_;
  CpuStream stream_;
  std::vector<std::unique_ptr<Stream>> accelerators_;  // as devices_.beside_cpu()
};

/// Drops every node that cannot be planned before the model runs; what the others leave behind
/// becomes an output. Returns how many were dropped.
Result<int64_t> KeepPlannable(ir::Graph& graph) {
  IdVector<ir::ValueId, bool> known(graph.values().size());
  for (ir::ValueId id : graph.inputs) known[static_cast<size_t>(id)] = true;
  int64_t dropped = 0;
  std::vector<ir::ValueId> results;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    ir::Node& node = graph.node(static_cast<ir::NodeId>(n));
    const bool ready = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
      return id == ir::kAbsent || graph.value(id).is_constant() || known[static_cast<size_t>(id)];
    });
    const bool shaped = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
      return id == ir::kAbsent || graph.value(id).has_concrete_shape();
    });
    if (node.op->Has(ir::Trait::kControl) || !ready || !shaped) {
      node.dead = true;
      ++dropped;
      continue;
    }
    for (ir::ValueId id : node.outputs) {
      if (id == ir::kAbsent) continue;
      known[static_cast<size_t>(id)] = true;
      results.push_back(id);
    }
  }
  if (dropped == 0) return dropped;
  // Which of the results the dropped nodes read is of no interest here: all of them stay.
  graph.outputs = results;
  RETURN_IF_ERROR(graph.Normalise());
  return dropped;
}

}  // namespace

Result<NodeComparisons> CompareNodes(const runtime::Model& model,
                                     const std::map<std::string, Tensor>& inputs,
                                     const runtime::Session& session, const Limits& limits,
                                     const std::function<void(double)>& progress) {
  ir::Graph graph = model.graph();
  for (ir::ValueId id : graph.inputs) {
    ir::Value& value = graph.value(id);
    value.dtype = inputs.at(value.name).dtype();
    value.shape = inputs.at(value.name).shape();
  }
  RETURN_IF_ERROR(passes::Specialise(graph));
  ASSIGN_OR_RETURN(const int64_t left_out, KeepPlannable(graph));
  ValueMap values;
  for (ir::ValueId id : graph.inputs) values.emplace(id, inputs.at(graph.value(id).name));
  ASSIGN_OR_RETURN(NodeComparisons result,
                   Comparer(std::move(graph), session, limits).Run(std::move(values), progress));
  result.left_out = left_out;
  return result;
}

}  // namespace fettle::tools
