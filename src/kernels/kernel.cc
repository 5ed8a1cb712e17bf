#include "kernels/kernel.h"

#include <algorithm>

#include "kernels/family.h"
#include "kernels/wanted_states.h"

namespace fettle::kernels {
namespace {

/// For a match that does not outlive the call.
std::shared_ptr<const ir::Graph> Borrow(const ir::Graph& group) {
  return {std::shared_ptr<const ir::Graph>(), &group};
}

}  // namespace

bool IsAllViews(const ir::Graph& group, const std::vector<Alias>& aliases) {
  std::vector<bool> runs;
  for (ir::ValueId id : group.outputs) runs.push_back(group.value(id).shape->elements() > 0);
  for (const Alias& alias : aliases)
    if (alias.is_view) runs[alias.output] = false;
  return std::find(runs.begin(), runs.end(), true) == runs.end();
}

Status CheckFirstOutputs(const ir::Graph& group) {
  for (const ir::Node& node : group.nodes()) {
    if (node.output(0) == ir::kAbsent)
      return Unsupported("the first output of {} is not used", node.op);
  }
  return OkStatus();
}

Result<std::shared_ptr<const Match>> MatchGroup(const KernelDesc& kernel,
                                                std::shared_ptr<const ir::Graph> group,
                                                const Device& device) {
  ASSIGN_OR_RETURN(std::unique_ptr<const Match> match, kernel.match(std::move(group), device));
  return std::shared_ptr<const Match>(std::move(match));
}

Result<int> FindStates(const KernelDesc& kernel, const Match& match,
                       const StateAssignment& states) {
  const std::span<const StateAssignment> all = match.states();
  const auto at = std::find(all.begin(), all.end(), states);
  if (at != all.end()) return static_cast<int>(at - all.begin());
  return Unsupported("{}: takes none of its operands in these states", kernel.name);
}

Result<std::vector<StateAssignment>> CandidatesOf(const KernelDesc& kernel, const ir::Graph& group,
                                                  const Device& device) {
  ASSIGN_OR_RETURN(const auto match, MatchGroup(kernel, Borrow(group), device));
  const std::span<const StateAssignment> states = match->states();
  return std::vector<StateAssignment>(states.begin(), states.end());
}

ParamSpace SpaceOf(const KernelDesc& kernel, const Problem& problem, const Device& device) {
  const auto match = MatchGroup(kernel, problem.group, device);
  if (!match.ok()) return {};
  const Result<int> states = FindStates(kernel, **match, problem.states);
  return states.ok() ? (*match)->params(*states, problem.threads) : ParamSpace();
}

Result<std::unique_ptr<PreparedKernel>> PrepareKernel(const KernelDesc& kernel,
                                                      const Problem& problem, const Params& params,
                                                      const Device& device) {
  ASSIGN_OR_RETURN(const auto match, MatchGroup(kernel, problem.group, device));
  ASSIGN_OR_RETURN(const int states, FindStates(kernel, *match, problem.states));
  return match->Prepare({states, problem.threads, params});
}

Params DefaultParams(const KernelDesc& kernel, const Problem& problem, const Device& device) {
  return SpaceOf(kernel, problem, device).usual;
}

StateAssignment RowMajorStates(const ir::Graph& group) {
  StateAssignment states;
  for (ir::ValueId id : group.inputs) states.inputs.push_back({.storage = group.value(id).dtype});
  for (ir::ValueId id : group.outputs) states.outputs.push_back({.storage = group.value(id).dtype});
  return states;
}

void AddCallersMemory(const ir::Graph& group, std::vector<StateAssignment>& states) {
  constexpr size_t kFew = 3;
  const size_t count = states.size();
  for (size_t s = 0; s < count; ++s) {
    if (WantedStates::LeaveOut(states[s])) continue;
    std::vector<size_t> readable;
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      const State plain{.storage = group.value(group.inputs[i]).dtype};
      if (states[s].inputs[i] == plain) readable.push_back(i);
    }
    if (readable.empty()) continue;
    const unsigned all = readable.size() <= kFew ? (1u << readable.size()) - 1 : 1;
    for (unsigned chosen = 1; chosen <= all; ++chosen) {
      StateAssignment next = states[s];
      for (size_t k = 0; k < readable.size(); ++k)
        next.inputs[readable[k]].external = readable.size() > kFew || (chosen >> k & 1) != 0;
      states.push_back(std::move(next));
    }
  }
}

}  // namespace fettle::kernels
