#include "tuner/network/slot.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

/// Sets that fail before nothing else of a slot is tried.
constexpr size_t kMostFailures = 3;

}  // namespace

SlotSearch::SlotSearch(kernels::Params defaults, const SlotOptions& options, MakeStart make_start)
    : defaults_(std::move(defaults)),
      options_(options),
      make_start_(std::move(make_start)),
      results_(defaults_) {}

void SlotSearch::Recall(const planner::Proposal& proposal, const Row& row) {
  if (!options_.scope.Allows(proposal.params)) return;
  // Whoever killed the process may not have meant the set.
  if (row.status == Row::Status::kCrashed && row.samples < kFatalCrashes) return;
  if (!row.prior) return results_.Record(proposal, row);
  if (!IsUsable(row)) return;
  priors_.push_back({proposal, LeastUs(row)});
  std::stable_sort(priors_.begin(), priors_.end(),
                   [](const Prior& a, const Prior& b) { return a.us < b.us; });
}

void SlotSearch::Ban(const std::optional<kernels::Params>& params, const std::string& reason) {
  if (!params) {
    ban_ = reason;
    return;
  }
  results_.Ban(*params);
}

void SlotSearch::SetBounds(double bound_us, double prior_share) {
  bound_us_ = bound_us;
  prior_share_ = prior_share;
}

double SlotSearch::gain() const {
  const SlotResult* usual = results_.Find(defaults_);
  if (usual == nullptr || usual->row.status != Row::Status::kOk || usual->row.median_us <= 0)
    return 1;
  return best_us() / usual->row.median_us;
}

double SlotSearch::PriorOf(const kernels::Params& params) const {
  for (const Prior& prior : priors_)
    if (prior.proposal.params == params) return prior.us;
  return 0;
}

/// The fastest prior, if it may be faster than what was measured.
const SlotSearch::Prior* SlotSearch::PendingPrior() const {
  if (priors_.empty() || options_.evaluations == 0 || given_up_) return nullptr;
  const SlotResult* best = results_.Best();
  const bool may_win = best == nullptr || priors_[0].us * prior_share_ < LeastUs(best->row);
  return may_win ? &priors_[0] : nullptr;
}

/// Whether no new set is worth a measurement.
bool SlotSearch::IsOver() const {
  if (results_.empty()) return false;
  if (exhausted_ || given_up_ ||
      static_cast<int64_t>(results_.size() + priors_.size()) >= options_.evaluations)
    return true;
  const SlotResult* best = results_.Best();
  if (best == nullptr) return results_.size() >= kMostFailures;
  if (hopeless_ || LeastUs(best->row) <= bound_us_ * (1 + SlotResults::kWorthwhileGain))
    return true;
  return HasNoPatience();
}

bool SlotSearch::HasNoPatience() const {
  return options_.patience > 0 && results_.since_progress() > options_.patience;
}

bool SlotSearch::is_finished() const {
  return is_closed() && (exhausted_ || HasNoPatience() ||
                         static_cast<int64_t>(results_.size()) >= options_.evaluations);
}

bool SlotSearch::is_closed() const {
  return !ban_.empty() || (IsOver() && PendingPrior() == nullptr);
}

std::optional<kernels::Params> SlotSearch::AskDefault() {
  if (asked_) return asked_->params;
  if (options_.evaluations == 0 || !ban_.empty() || results_.Find(defaults_) != nullptr)
    return std::nullopt;
  asked_ = planner::Proposal{defaults_, "default", true};
  to_the_end_ = true;
  return defaults_;
}

std::optional<kernels::Params> SlotSearch::Ask() {
  if (asked_) return asked_->params;
  if (options_.evaluations == 0 || !ban_.empty()) return std::nullopt;
  to_the_end_ = false;
  if (const Prior* prior = PendingPrior(); prior != nullptr) {
    asked_ = prior->proposal;
  } else if (results_.empty()) {
    asked_ = planner::Proposal{defaults_, "default", true};
  } else if (!IsOver()) {
    asked_ = NextOfSearch();
  }
  const SlotResult* const best = results_.Best();
  if (!asked_ && best != nullptr && best->row.status == Row::Status::kStopped) {
    asked_ = *best->proposal;
    to_the_end_ = true;
  }
  return asked_ ? std::optional(asked_->params) : std::nullopt;
}

void SlotSearch::BeginSearch() {
  if (make_start_) start_ = make_start_();
  make_start_ = nullptr;
  if (!start_) return;
  const SlotSpace& space = start_->space;
  SearchOptions options{.seed = options_.seed};
  if (space.space().combinations() <= static_cast<uint64_t>(options_.evaluations))
    options.strategy = "full";
  const auto add = [&](const kernels::Params& params) {
    if (const std::optional<Point> point = space.PointOf(params)) options.seeds.push_back(*point);
  };
  for (const planner::Proposal& known : proposals()) add(known.params);
  for (const planner::Proposal& seed : start_->seeds) add(seed.params);
  strategy_ = options.strategy;
  auto search = Search::Create(space.space(), options);
  if (search.ok()) search_ = std::move(*search);
}

std::optional<planner::Proposal> SlotSearch::NextOfSearch() {
  if (search_ == nullptr) BeginSearch();
  while (search_ != nullptr) {
    const std::optional<Point> point = search_->Ask();
    if (!point) break;
    const kernels::Params params = start_->space.ParamsOf(*point);
    if (const SlotResult* known = results_.Find(params); known != nullptr) {
      search_->Tell(IsUsable(known->row) ? std::optional(LeastUs(known->row) * 1e-3)
                                         : std::nullopt);
      continue;
    }
    const auto prior = std::find_if(priors_.begin(), priors_.end(), [&](const Prior& one) {
      return one.proposal.params == params;
    });
    if (prior != priors_.end()) {
      search_->Tell(prior->us * 1e-3);
      continue;
    }
    const auto seed =
        std::find_if(start_->seeds.begin(), start_->seeds.end(),
                     [&](const planner::Proposal& one) { return one.params == params; });
    return planner::Proposal{params, seed == start_->seeds.end() ? strategy_ : seed->by, false};
  }
  exhausted_ = true;
  return std::nullopt;
}

void SlotSearch::Tell(const Row& row) {
  FETTLE_CHECK(asked_.has_value(), "Tell without Ask");
  const planner::Proposal told = *std::exchange(asked_, std::nullopt);
  std::erase_if(priors_, [&](const Prior& one) { return one.proposal.params == told.params; });
  if (results_.Find(told.params) != nullptr) return Correct(told.params, row);
  results_.Record(told, row);
  if (search_ == nullptr) return;
  const std::optional<Point> point = search_->Ask();
  if (point && start_->space.ParamsOf(*point) == told.params)
    search_->Tell(IsUsable(row) ? std::optional(LeastUs(row) * 1e-3) : std::nullopt);
}

void SlotSearch::Postpone(const Row& prior) {
  FETTLE_CHECK(asked_.has_value() && prior.prior, "a prior of what was asked for");
  Recall(*std::exchange(asked_, std::nullopt), prior);
}

planner::EntryCost SlotSearch::cost() const {
  if (!ban_.empty()) return {.us = bound_us_, .banned = ban_};
  const SlotResult* best = results_.Best();
  const Prior* prior = PendingPrior();
  const bool over = IsOver();
  planner::EntryCost cost{.us = bound_us_};
  if (best == nullptr) {
    if (prior != nullptr) cost.us = std::max(bound_us_, prior->us * prior_share_);
    if (over && prior == nullptr) cost.banned = results_.WhyNone();
    return cost;
  }
  cost = results_.CostOf(*best);
  cost.measured = cost.measured && ((over && prior == nullptr) || options_.evaluations == 0);
  if (cost.measured) return cost;
  double least = over ? cost.us : options_.least_of_best * cost.us;
  if (prior != nullptr) least = std::min(least, prior->us * prior_share_);
  cost.us = std::max(bound_us_, least);
  return cost;
}

planner::EntryCost SlotSearch::cost_as_measured() const {
  if (!ban_.empty()) return {.us = bound_us_, .banned = ban_};
  const SlotResult* best = results_.BestTimed();
  return best == nullptr ? planner::EntryCost{.us = bound_us_, .banned = "not measured"}
                         : results_.CostOf(*best);
}

std::vector<planner::Proposal> SlotSearch::proposals() const {
  std::vector<planner::Proposal> all;
  for (const SlotResult& result : results_.all()) all.push_back(*result.proposal);
  for (const Prior& prior : priors_) all.push_back(prior.proposal);
  return all;
}

}  // namespace fettle::tuner
