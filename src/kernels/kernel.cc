#include "kernels/kernel.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// A row of functions of problems, as a match. The group is read again by each of them.
class AdaptedRow final : public Match {
 public:
  AdaptedRow(const KernelDesc& kernel, std::shared_ptr<const ir::Graph> group,
             std::vector<StateAssignment> states, const Device& device)
      : kernel_(kernel), group_(std::move(group)), states_(std::move(states)), device_(device) {}

  std::span<const StateAssignment> states() const override { return states_; }
  std::optional<int> taste() const override {
    if (kernel_.preference_on == nullptr) return std::nullopt;
    return kernel_.preference_on(*group_, device_);
  }

  ParamSpace params(int states, int threads) const override {
    const Problem problem = ProblemOf(states, threads);
    ParamSpace space;
    if (kernel_.tunables != nullptr) space.tunables = kernel_.tunables(problem, device_);
    if (kernel_.default_params != nullptr) space.usual = kernel_.default_params(problem, device_);
    if (kernel_.valid != nullptr) {
      space.check = [problem, valid = kernel_.valid, &device = device_](const Params& params) {
        return valid(problem, params, device);
      };
    }
    return space;
  }

  std::optional<Work> work(const Setting& setting) const override {
    if (kernel_.work == nullptr) return std::nullopt;
    return kernel_.work(ProblemOf(setting.states, setting.threads), setting.params, device_);
  }

  bool is_view(int states) const override {
    if (!kernel_.may_be_view || group_->inputs.empty()) return false;
    const auto prepared = Prepare({.states = states});
    if (!prepared.ok()) return false;
    std::vector<bool> runs;
    for (ir::ValueId id : group_->outputs) runs.push_back(group_->value(id).shape->elements() > 0);
    for (const Alias& alias : (*prepared)->aliases())
      if (alias.is_view) runs[alias.output] = false;
    return std::find(runs.begin(), runs.end(), true) == runs.end();
  }

  Result<std::unique_ptr<PreparedKernel>> Prepare(const Setting& setting) const override {
    const Problem problem = ProblemOf(setting.states, setting.threads);
    if (!setting.params.empty() || kernel_.default_params == nullptr)
      return kernel_.prepare(problem, setting.params, device_);
    return kernel_.prepare(problem, kernel_.default_params(problem, device_), device_);
  }

 private:
  Problem ProblemOf(int states, int threads) const { return {group_, states_[states], threads}; }

  const KernelDesc& kernel_;
  std::shared_ptr<const ir::Graph> group_;
  std::vector<StateAssignment> states_;
  const Device& device_;
};

/// For a match that does not outlive the call.
std::shared_ptr<const ir::Graph> Borrow(const ir::Graph& group) {
  return {std::shared_ptr<const ir::Graph>(), &group};
}

}  // namespace

Result<std::shared_ptr<const Match>> MatchGroup(const KernelDesc& kernel,
                                                std::shared_ptr<const ir::Graph> group,
                                                const Device& device) {
  if (kernel.match != nullptr) {
    ASSIGN_OR_RETURN(std::unique_ptr<const Match> match, kernel.match(std::move(group), device));
    return std::shared_ptr<const Match>(std::move(match));
  }
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, kernel.candidates(*group, device));
  return std::shared_ptr<const Match>(
      std::make_shared<AdaptedRow>(kernel, std::move(group), std::move(states), device));
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
  // Rows of the older functions are ready in any states that they can read, listed or not.
  if (kernel.match == nullptr) return kernel.prepare(problem, params, device);
  ASSIGN_OR_RETURN(const auto match, MatchGroup(kernel, problem.group, device));
  ASSIGN_OR_RETURN(const int states, FindStates(kernel, *match, problem.states));
  return match->Prepare({states, problem.threads, params});
}

Status Applies(const KernelDesc& kernel, const Problem& problem, const Device& device) {
  ASSIGN_OR_RETURN(const auto match, MatchGroup(kernel, problem.group, device));
  return FindStates(kernel, *match, problem.states).status();
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

}  // namespace fettle::kernels
