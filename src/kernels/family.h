// A kernel written as functions of the facts that it reads from a group once.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/near_match.h"

namespace fettle::kernels {

/// `Facts` is what these functions need to know about a group: a value, immutable once read. The
/// problem that they receive has the group, one of the states and the number of threads.
template <typename Facts>
struct Family {
  /// Whether the kernel can compute the group; kUnsupported with the reason.
  Result<Facts> (*read)(const ir::Graph& group, const Device& device) = nullptr;
  /// Match::states(), in which the group's tail can be finished too.
  Result<std::vector<StateAssignment>> (*states)(const ir::Graph& group, const Facts& facts,
                                                 const Device& device) = nullptr;
  Result<std::unique_ptr<PreparedKernel>> (*prepare)(const Problem& problem, const Facts& facts,
                                                     const Params& params,
                                                     const Device& device) = nullptr;
  /// Null: nothing to tune.
  ParamSpace (*params)(const Problem& problem, const Facts& facts, const Device& device) = nullptr;
  /// Null: 1. `Always<7>` where it is the same for all groups.
  int (*taste)(const Facts& facts, const Device& device) = nullptr;
  /// Null: that of the operators.
  Work (*work)(const Problem& problem, const Facts& facts, const Params& params,
               const Device& device) = nullptr;
  /// Null: never.
  bool (*is_view)(const Problem& problem, const Facts& facts, const Device& device) = nullptr;
  /// Whether nodes may have an absent first output, because nobody reads it.
  bool takes_no_first_output = false;
  /// Whether row-major inputs of their values' own types may be the caller's memory: the kernel
  /// reads no byte behind an element and needs no more alignment than the element type has.
  bool reads_callers_memory = false;
  /// Whether a state that the kernel has for a group is also a state for each group that differs
  /// only in extents above 1, and what `prepare` makes refers neither to the group nor to the
  /// facts.
  bool takes_near_extents = false;
};

/// Adds the states of `states` with row-major inputs bound by the caller: all combinations where
/// they are few, otherwise only the one with all inputs bound. A half that some state holds in fp32
/// is left out: it is widened at the border and goes through the network in fp32, which is more
/// exact than steps that each round to halves.
void AddCallersMemory(const ir::Graph& group, std::vector<StateAssignment>& states);

/// kUnsupported where the first output of a node is absent: kernels take their sizes from it.
Status CheckFirstOutputs(const ir::Graph& group);

/// Family::taste that is the same for all groups.
template <int kTaste, typename Facts>
int Always(const Facts&, const Device&) {
  return kTaste;
}

/// Family::states of a kernel that computes row-major tensors of the values' own types alone.
template <typename Facts>
Result<std::vector<StateAssignment>> RowMajorAlone(const ir::Graph& group, const Facts&,
                                                   const Device&) {
  return std::vector<StateAssignment>{RowMajorStates(group)};
}

/// Family::prepare by the constructor Kernel(problem, facts).
template <typename Kernel, typename Facts>
Result<std::unique_ptr<PreparedKernel>> Make(const Problem& problem, const Facts& facts,
                                             const Params&, const Device&) {
  return std::unique_ptr<PreparedKernel>(std::make_unique<Kernel>(problem, facts));
}

/// What matches of all families have, whatever their facts.
class MatchedGroup : public Match {
 public:
  std::span<const StateAssignment> states() const final { return states_; }

 protected:
  MatchedGroup(std::shared_ptr<const ir::Graph> group, std::vector<StateAssignment> states,
               const Device& device, bool has_params)
      : group_(std::move(group)),
        states_(std::move(states)),
        device_(device),
        has_params_(has_params) {}
  Problem ProblemOf(int states, int threads) const;
  /// The usual parameters with those of the setting in their place.
  Params ParamsOf(const Setting& setting) const;

  std::shared_ptr<const ir::Graph> group_;
  std::vector<StateAssignment> states_;
  const Device& device_;

 private:
  bool has_params_;
};

template <typename Facts>
class FamilyMatch : public MatchedGroup {
 public:
  FamilyMatch(const Family<Facts>& family, std::shared_ptr<const ir::Graph> group, Facts facts,
              std::vector<StateAssignment> states, const Device& device)
      : MatchedGroup(std::move(group), std::move(states), device, family.params != nullptr),
        family_(family),
        facts_(std::move(facts)) {}

  int taste() const override {
    return family_.taste == nullptr ? Match::taste() : family_.taste(facts_, device_);
  }
  ParamSpace params(int states, int threads) const override {
    if (family_.params == nullptr) return {};
    return family_.params(ProblemOf(states, threads), facts_, device_);
  }
  std::optional<Work> work(const Setting& setting) const override {
    if (family_.work == nullptr) return std::nullopt;
    return family_.work(ProblemOf(setting.states, setting.threads), facts_, ParamsOf(setting),
                        device_);
  }
  bool is_view(int states) const override {
    return family_.is_view != nullptr && family_.is_view(ProblemOf(states, 1), facts_, device_);
  }
  Result<std::unique_ptr<PreparedKernel>> Prepare(const Setting& setting) const override {
    return family_.prepare(ProblemOf(setting.states, setting.threads), facts_, ParamsOf(setting),
                           device_);
  }

 protected:
  const Family<Facts>& family_;

 private:
  Facts facts_;
};

/// That of a family whose kernels take other extents (Family::takes_near_extents).
template <typename Facts>
class NearFamilyMatch final : public FamilyMatch<Facts>, public MatchesNear {
 public:
  using FamilyMatch<Facts>::FamilyMatch;

  Result<std::unique_ptr<const Match>> MatchNear(const std::shared_ptr<const ir::Graph>& group,
                                                 int states) const override {
    ASSIGN_OR_RETURN(Facts facts, this->family_.read(*group, this->device_));
    return std::unique_ptr<const Match>(std::make_unique<FamilyMatch<Facts>>(
        this->family_, group, std::move(facts), std::vector<StateAssignment>{this->states_[states]},
        this->device_));
  }
};

/// KernelDesc::match of a family with static storage.
template <const auto& kFamily>
Result<std::unique_ptr<const Match>> MatchAs(std::shared_ptr<const ir::Graph> group,
                                             const Device& device) {
  if (!kFamily.takes_no_first_output) RETURN_IF_ERROR(CheckFirstOutputs(*group));
  ASSIGN_OR_RETURN(auto facts, kFamily.read(*group, device));
  using Facts = decltype(facts);
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, kFamily.states(*group, facts, device));
  if (kFamily.reads_callers_memory) AddCallersMemory(*group, states);
  using Made =
      std::conditional_t<kFamily.takes_near_extents, NearFamilyMatch<Facts>, FamilyMatch<Facts>>;
  return std::unique_ptr<const Match>(std::make_unique<Made>(
      kFamily, std::move(group), std::move(facts), std::move(states), device));
}

}  // namespace fettle::kernels
