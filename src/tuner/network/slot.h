// A slot: a kernel in given states on a number of threads. It searches its own parameters, and
// meanwhile tells the solver its cost.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost_source.h"
#include "tuner/network/slot_results.h"
#include "tuner/network/slot_space.h"
#include "tuner/search/search.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

struct SlotOptions {
  /// The most sets of parameters to measure, including the default one and those of earlier runs;
  /// 0: none, so that known times decide.
  int64_t evaluations = 1;
  /// Evaluations in a row without a worthwhile gain after which a slot closes; 0: never.
  int64_t patience = 0;
  /// While a slot is open, it is taken to cost at least this share of the best of its sets; 0: it
  /// may come down to its bound.
  double least_of_best = 0.75;
  /// Slots in which others of the same way gained nothing close with their default set.
  bool habits = true;
  SlotScope scope;
  uint64_t seed = 1;
};

/// Asks for one set of parameters at a time. Belongs to one thread.
class SlotSearch {
 public:
  /// The inputs of a slot's search, made after its default set was measured: the space, and known
  /// good sets to begin with.
  struct Start {
    SlotSpace space;
    std::vector<planner::Proposal> seeds;
  };
  using MakeStart = std::function<std::optional<Start>()>;

  SlotSearch(kernels::Params defaults, const SlotOptions& options, MakeStart make_start);

  /// What an earlier run measured; a prior is measured again if it may still be the best.
  void Recall(const planner::Proposal& proposal, const Row& row);
  /// Sets that must never be taken; without parameters: the whole slot.
  void Ban(const std::optional<kernels::Params>& params, const std::string& reason);
  /// No new set is asked for: there are none, or an earlier search ended.
  void Close() { exhausted_ = true; }
  /// There is no time for more: measured sets count, and the search has not ended.
  void GiveUp() { given_up_ = true; }
  /// The measurements so far come from a narrower search: as many again are allowed.
  void Extend() { options_.evaluations += static_cast<int64_t>(proposals().size()); }
  /// Nobody expects gains from here on (SlotOptions::habits).
  void set_hopeless(bool hopeless) { hopeless_ = hopeless; }
  /// Bounds of now: of the slot, and at which part of their times priors count.
  void SetBounds(double bound_us, double prior_share);

  /// The next set to measure, the same until Tell; none: closed, by strategy, budget, patience or
  /// bound. A set that was stopped as too slow but decides is asked for again.
  std::optional<kernels::Params> Ask();
  /// The default set, if it was not measured yet.
  std::optional<kernels::Params> AskDefault();
  /// What a prior says of a set; 0: there is none.
  double PriorOf(const kernels::Params& params) const;
  /// Whether the asked set is to be timed however long it takes.
  bool to_the_end() const { return to_the_end_; }
  void Tell(const Row& row);
  /// Instead of Tell: what is known of the set is a prior.
  void Postpone(const Row& prior);
  /// Better times of sets that were measured before.
  void Correct(const kernels::Params& params, const Row& row) { results_.Correct(params, row); }

  /// Microseconds: while open an admissible bound, then the best.
  planner::EntryCost cost() const;
  /// The same if nothing else was ever measured; banned where nothing was.
  planner::EntryCost cost_as_measured() const;
  bool is_closed() const;
  /// Whether it was closed by its own measurements, not by bounds that others taught.
  bool is_finished() const;
  /// The sets that may be the best one, at most `most`, best first; one where it is clear.
  std::vector<planner::Proposal> finalists(size_t most) const { return results_.finalists(most); }
  const Row& RowOf(const kernels::Params& params) const { return results_.RowOf(params); }

  /// All that was measured, in order; then the priors.
  std::vector<planner::Proposal> proposals() const;
  size_t evaluations() const { return results_.size(); }
  /// The best time over the default's; 1 where nothing else was measured or the default has none.
  double gain() const;
  /// The least time; infinite where there is none.
  double best_us() const { return results_.best_us(); }
  bool was_searched() const { return search_ != nullptr || results_.size() > 1; }

 private:
  struct Prior {
    planner::Proposal proposal;
    double us = 0;
  };
  const Prior* PendingPrior() const;
  bool IsOver() const;
  bool HasNoPatience() const;
  void BeginSearch();
  std::optional<planner::Proposal> NextOfSearch();

  kernels::Params defaults_;
  SlotOptions options_;
  MakeStart make_start_;
  std::optional<Start> start_;
  std::unique_ptr<Search> search_;
  std::string strategy_;
  bool exhausted_ = false, given_up_ = false, hopeless_ = false;
  double bound_us_ = 0, prior_share_ = 0.85;
  SlotResults results_;
  std::vector<Prior> priors_;  // not measured again so far, fastest first
  std::string ban_;            // of the whole slot
  std::optional<planner::Proposal> asked_;
  bool to_the_end_ = false;
};

}  // namespace fettle::tuner
