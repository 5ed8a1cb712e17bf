// From a decision to a plan: groups are cut out again, checked against the kernels of this build,
// and joined by conversions.
#include <fmt/format.h>

#include <algorithm>

#include "passes/groups.h"
#include "planner/choices.h"
#include "planner/decision.h"
#include "planner/same_bytes.h"
#include "planner/small_steps.h"

namespace fettle::planner {
namespace {

Result<const kernels::KernelDesc*> KernelOf(const GroupDecision& decision) {
  const kernels::KernelDesc* kernel = FindKernel(decision.kernel);
  if (kernel == nullptr)
    return Error(StatusCode::kVersionMismatch, "kernel {}: not in this version of Fettle",
                 decision.kernel);
  if (kernel->version == decision.version) return kernel;
  return Error(StatusCode::kVersionMismatch,
               "kernel {}: the plan was made for version {}, this is {}", decision.kernel,
               decision.version, kernel->version);
}

/// Programs are made of parameters, which may come from a file: those that are searched have a
/// value of their list, or the usual one. Work-groups may be any that the kernel's own check takes.
Status CheckListed(const kernels::ParamSpace& space, const kernels::Params& params) {
  for (const kernels::Tunable& tunable : space.tunables) {
    const auto given = params.find(tunable.name);
    if (given == params.end() || given->first.starts_with("group_")) continue;
    const auto usual = space.usual.find(tunable.name);
    if (usual != space.usual.end() && usual->second == given->second) continue;
    if (std::ranges::find(tunable.values, given->second) == tunable.values.end())
      return Unsupported("{} {}: expected one of {}", tunable.name, given->second,
                         fmt::join(tunable.values, ", "));
  }
  return OkStatus();
}

/// The plan as it grows, with the tensors in which each value exists.
class Assembler {
 public:
  Assembler(const ir::Graph& graph, const Decision& decision, const DeviceSet& devices, int threads,
            ThreadsOfGroups counted)
      : graph_(graph),
        decision_(decision),
        devices_(devices),
        threads_(threads),
        counted_(counted),
        cutter_(graph),
        tensors_of_(graph.values().size()),
        covered_(graph.nodes().size()) {}

  Result<exec::Plan> Run() {
    for (ir::ValueId id : graph_.inputs) {
      const State state{.storage = graph_.value(id).dtype, .external = true};
      plan_.inputs.push_back(AddTensor(id, state));
    }
    for (const GroupDecision& group : decision_.groups) RETURN_IF_ERROR(AddGroup(group));
    if (!std::all_of(covered_.begin(), covered_.end(), [](bool covered) { return covered; }))
      return Error(StatusCode::kCorrupt, "the plan leaves nodes out");
    for (ir::ValueId id : graph_.outputs) {
      const ir::Value& value = graph_.value(id);
      if (value.is_constant()) {
        plan_.outputs.push_back(-1);
        continue;
      }
      ASSIGN_OR_RETURN(const int tensor, Obtain(id, {.storage = value.dtype}, 0));
      plan_.outputs.push_back(tensor);
    }
    plan_.chains = decision_.chains;
    RETURN_IF_ERROR(exec::CheckChains(plan_));
    return std::move(plan_);
  }

 private:
  int AddTensor(ir::ValueId id, const State& state, int same_bytes_as = -1) {
    const auto tensor = static_cast<int>(plan_.tensors.size());
    plan_.tensors.push_back({graph_.value(id).name, *graph_.value(id).shape, state, same_bytes_as});
    tensors_of_[id].push_back(tensor);
    return tensor;
  }

  Status Cover(const GroupDecision& group) {
    if (group.nodes.empty()) return Error(StatusCode::kCorrupt, "the plan has an empty group");
    for (ir::NodeId node : group.nodes) {
      if (node < 0 || node >= std::ssize(covered_) || covered_[node]) {
        return Error(StatusCode::kCorrupt, "the plan names node {} twice, or there is none", node);
      }
      covered_[node] = true;
    }
    return OkStatus();
  }

  Status AddGroup(const GroupDecision& group) {
    RETURN_IF_ERROR(Cover(group));
    ASSIGN_OR_RETURN(const kernels::KernelDesc* kernel, KernelOf(group));
    const Device* device = devices_.Find(kernel->device());
    if (device == nullptr)
      return Error(StatusCode::kVersionMismatch, "kernel {}: its device is not there",
                   kernel->name);
    const passes::Fragment fragment = cutter_.Cut(group.nodes);
    exec::PlannedStep step;
    step.kernel = kernel;
    step.problem = {fragment.graph, group.states,
                    group.threads == 0 ? threads_ : std::min(group.threads, threads_)};
    const Status applies = Match(group, *device, step);
    if (!applies.ok()) return Error(StatusCode::kVersionMismatch, "{}", applies.message());
    for (size_t i = 0; i < fragment.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const int tensor, Obtain(fragment.inputs[i], group.states.inputs[i], 0));
      step.inputs.push_back(tensor);
    }
    for (size_t i = 0; i < fragment.outputs.size(); ++i)
      step.outputs.push_back(AddTensor(fragment.outputs[i], group.states.outputs[i]));
    plan_.steps.push_back(std::move(step));
    return OkStatus();
  }

  /// What the step's kernel makes of its group, and whether it takes the parameters.
  Status Match(const GroupDecision& group, const Device& device, exec::PlannedStep& step) const {
    ASSIGN_OR_RETURN(step.match, kernels::MatchGroup(*step.kernel, step.problem.group, device));
    ASSIGN_OR_RETURN(step.states_index,
                     kernels::FindStates(*step.kernel, *step.match, step.problem.states));
    if (counted_ == ThreadsOfGroups::kAnew)
      step.problem.threads = ThreadsWorthWaking({step.kernel, step.match, step.states_index},
                                                step.problem.group, threads_);
    const kernels::ParamSpace space = step.match->params(step.states_index, step.problem.threads);
    step.params = group.params.empty() ? space.usual : group.params;
    if (step.kernel->device() != DeviceKind::kCpu) RETURN_IF_ERROR(CheckListed(space, step.params));
    return space.check ? space.check(step.params) : OkStatus();
  }

  /// The state that `id` is converted to `state` from, if the decision says so.
  const State* Source(ir::ValueId id, const State& state) const {
    for (const ConversionDecision& conversion : decision_.conversions)
      if (conversion.value == id && conversion.to == state) return &conversion.from;
    return nullptr;
  }

  /// The other state that the decision makes `id` in and that lies in memory as `state` does, if
  /// there is one: solvers take them for one.
  const State* MadeForSameBytes(ir::ValueId id, const State& state) const {
    for (const ConversionDecision& conversion : decision_.conversions)
      if (conversion.value == id && conversion.to != state &&
          SameBytes(*graph_.value(id).shape, conversion.to, state))
        return &conversion.to;
    return nullptr;
  }

  /// Whether `tensor` goes to another device through the host's row-major form.
  bool IsCutOff(int tensor, const State& state) const {
    const exec::PlannedTensor& from = plan_.tensors[tensor];
    return from.state.device != state.device &&
           !kernels::CheckConversion(from.shape, from.state, state).ok();
  }

  /// The tensor that holds `id` in `state`, converted if need be. `depth`: conversions on the way.
  Result<int> Obtain(ir::ValueId id, const State& state, int depth) {
    const std::vector<int>& existing = tensors_of_[id];
    if (existing.empty() || depth > 8)
      return Error(StatusCode::kCorrupt, "the plan reads '{}' before it is written",
                   graph_.value(id).name);
    for (int tensor : existing)
      if (plan_.tensors[tensor].state == state) return tensor;
    for (int tensor : existing) {
      const exec::PlannedTensor& from = plan_.tensors[tensor];
      if (SameBytes(from.shape, from.state, state)) return AddTensor(id, state, tensor);
    }
    if (const State* same = MadeForSameBytes(id, state); same != nullptr) {
      ASSIGN_OR_RETURN(const int tensor, Obtain(id, *same, depth + 1));
      return AddTensor(id, state, tensor);
    }
    if (devices_.Find(state.device) == nullptr)
      return Error(StatusCode::kVersionMismatch, "the plan keeps '{}' on '{}', which is not there",
                   graph_.value(id).name, DeviceKindName(state.device));
    exec::PlannedStep conversion;
    int from = existing[0];
    if (const State* source = Source(id, state); source != nullptr) {
      ASSIGN_OR_RETURN(from, Obtain(id, *source, depth + 1));
    } else if (IsCutOff(from, state)) {
      ASSIGN_OR_RETURN(from, Obtain(id, {.storage = graph_.value(id).dtype}, depth + 1));
    }
    conversion.inputs.push_back(from);
    const int converted = AddTensor(id, state);
    conversion.outputs.push_back(converted);
    plan_.steps.push_back(std::move(conversion));
    return converted;
  }

  const ir::Graph& graph_;
  const Decision& decision_;
  const DeviceSet& devices_;
  int threads_;
  ThreadsOfGroups counted_;
  passes::GroupCutter cutter_;
  exec::Plan plan_;
  std::vector<std::vector<int>> tensors_of_;
  std::vector<bool> covered_;
};

}  // namespace

Result<exec::Plan> Apply(const ir::Graph& graph, const Decision& decision, const DeviceSet& devices,
                         int threads, ThreadsOfGroups counted) {
  return Assembler(graph, decision, devices, threads, counted).Run();
}

}  // namespace fettle::planner
