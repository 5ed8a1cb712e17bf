// From a decision to a plan: groups are cut out again, checked against the kernels of this build,
// and joined by conversions.
#include <fmt/format.h>

#include <algorithm>

#include "base/memory_budget.h"
#include "device/cpu/cpu_device.h"
#include "kernels/wanted_states.h"
#include "passes/groups.h"
#include "planner/choices.h"
#include "planner/decision.h"
#include "planner/same_bytes.h"
#include "planner/same_group.h"
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
            ThreadsOfGroups counted, std::span<const exec::PlannedStep> known)
      : graph_(graph),
        decision_(decision),
        devices_(devices),
        threads_(threads),
        counted_(counted),
        known_(known),
        cutter_(graph),
        tensors_of_(graph.values().size()),
        covered_(graph.nodes().size()) {}

  Result<exec::Plan> Run() {
    for (ir::ValueId id : graph_.inputs) {
      const State state{.storage = graph_.value(id).dtype, .external = true};
      plan_.inputs.push_back(AddTensor(id, state));
    }
    RETURN_IF_ERROR(CutGroups());
    RETURN_IF_ERROR(MatchGroups());
    for (size_t i = 0; i < groups_.size(); ++i)
      RETURN_IF_ERROR(AddStep(std::move(groups_[i]), decision_.groups[i]));
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
    plan_.tensors.push_back(
        {graph_.value(id).name, *graph_.value(id).shape, state, same_bytes_as, id});
    tensors_of_[id].push_back(tensor);
    return tensor;
  }

  Status Cover(const GroupDecision& group) {
    if (group.nodes.empty()) return Error(StatusCode::kCorrupt, "the plan has an empty group");
    for (ir::NodeId node : group.nodes) {
      if (node < 0 || node >= std::ssize(covered_) || covered_[node]) {
        return Error(StatusCode::kCorrupt, "the plan names node {} twice, or it does not exist",
                     node);
      }
      covered_[node] = true;
    }
    return OkStatus();
  }

  /// A group on its way to a step.
  struct CutGroup {
    passes::Fragment fragment;
    exec::PlannedStep step;
    const Device* device = nullptr;  // that is still to match it; null: known
  };

  Status CutGroups() {
    for (const GroupDecision& group : decision_.groups) {
      RETURN_IF_ERROR(Cover(group));
      const size_t index = groups_.size();
      CutGroup& cut = groups_.emplace_back();
      if (index < known_.size()) {
        auto same = FragmentLike(known_[index].problem.group, graph_, group.nodes);
        if (same) {
          cut = {std::move(*same), known_[index], nullptr};
          continue;
        }
      }
      ASSIGN_OR_RETURN(cut.step.kernel, KernelOf(group));
      cut.device = devices_.Find(cut.step.kernel->device());
      if (cut.device == nullptr)
        return Error(StatusCode::kVersionMismatch, "kernel {}: its device is not available",
                     cut.step.kernel->name);
      cut.fragment = cutter_.Cut(group.nodes);
      cut.step.problem = {cut.fragment.graph, group.states,
                          group.threads == 0 ? threads_ : std::min(group.threads, threads_)};
    }
    return OkStatus();
  }

  /// Where a run waits for the plan (ThreadsOfGroups::kAnew), on all threads.
  Status MatchGroups() {
    std::vector<Status> statuses(groups_.size());
    ThreadPool& pool = static_cast<const CpuDevice&>(devices_.cpu()).pool();
    const int lanes = counted_ == ThreadsOfGroups::kAnew ? std::min(threads_, pool.threads()) : 1;
    const std::shared_ptr<MemoryBudget> budget = MemoryBudget::Current();
    pool.ParallelFor(std::ssize(groups_), lanes, [&](int64_t i, int) {
      const MemoryScope scope(budget);
      CutGroup& cut = groups_[i];
      if (cut.device != nullptr) statuses[i] = Match(decision_.groups[i], *cut.device, cut.step);
    });
    for (const Status& status : statuses)
      if (!status.ok()) return Error(StatusCode::kVersionMismatch, "{}", status.message());
    return OkStatus();
  }

  Status AddStep(CutGroup cut, const GroupDecision& group) {
    const kernels::StateAssignment& states = group.states;
    cut.step.values = ValuesInParent(*cut.fragment.graph, graph_, group.nodes);
    for (size_t i = 0; i < cut.fragment.inputs.size(); ++i) {
      ASSIGN_OR_RETURN(const int tensor, Obtain(cut.fragment.inputs[i], states.inputs[i], 0));
      cut.step.inputs.push_back(tensor);
    }
    for (size_t i = 0; i < cut.fragment.outputs.size(); ++i)
      cut.step.outputs.push_back(AddTensor(cut.fragment.outputs[i], states.outputs[i]));
    plan_.steps.push_back(std::move(cut.step));
    return OkStatus();
  }

  /// What the step's kernel makes of its group, and whether it takes the parameters.
  Status Match(const GroupDecision& group, const Device& device, exec::PlannedStep& step) const {
    const kernels::WantedStates wanted(step.problem.states);
    ASSIGN_OR_RETURN(step.match, kernels::MatchGroup(*step.kernel, step.problem.group, device));
    ASSIGN_OR_RETURN(step.states_index,
                     kernels::FindStates(*step.kernel, *step.match, step.problem.states));
    if (counted_ == ThreadsOfGroups::kAnew)
      step.problem.threads = ThreadsWorthWaking({step.kernel, step.match, step.states_index},
                                                step.problem.group, threads_);
    const kernels::ParamSpace space = step.match->params(step.states_index, step.problem.threads);
    step.has_all_params = group.params.empty();
    step.params = step.has_all_params ? space.usual : group.params;
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
      return Error(StatusCode::kVersionMismatch,
                   "the plan keeps '{}' on '{}', which is not available", graph_.value(id).name,
                   DeviceKindName(state.device));
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
  std::span<const exec::PlannedStep> known_;
  passes::GroupCutter cutter_;
  std::vector<CutGroup> groups_;
  exec::Plan plan_;
  std::vector<std::vector<int>> tensors_of_;
  std::vector<bool> covered_;
};

}  // namespace

Result<exec::Plan> Apply(const ir::Graph& graph, const Decision& decision, const DeviceSet& devices,
                         int threads, ThreadsOfGroups counted,
                         std::span<const exec::PlannedStep> known) {
  return Assembler(graph, decision, devices, threads, counted, known).Run();
}

}  // namespace fettle::planner
