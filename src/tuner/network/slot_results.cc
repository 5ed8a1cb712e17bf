#include "tuner/network/slot_results.h"

#include <algorithm>
#include <limits>

namespace fettle::tuner {
namespace {

/// Sets within this share of the best may be the best.
constexpr double kFinalistShare = 0.04;

bool IsTimed(const SlotResult& result) {
  return !result.banned && result.row.status == Row::Status::kOk;
}

}  // namespace

bool IsUsable(const Row& row) {
  return row.status == Row::Status::kOk || row.status == Row::Status::kStopped;
}

double LeastUs(const Row& row) {
  return row.status == Row::Status::kOk ? row.median_us : row.low_us;
}

const SlotResult* SlotResults::Find(const kernels::Params& params) const {
  const auto found = std::find_if(results_.begin(), results_.end(), [&](const SlotResult& result) {
    return result.proposal->params == params;
  });
  return found == results_.end() ? nullptr : &*found;
}

SlotResult* SlotResults::Known(const kernels::Params& params) {
  return const_cast<SlotResult*>(Find(params));
}

const Row& SlotResults::RowOf(const kernels::Params& params) const {
  const SlotResult* known = Find(params);
  FETTLE_CHECK(known != nullptr, "a set that was never measured");
  return known->row;
}

void SlotResults::Record(planner::Proposal proposal, const Row& row) {
  proposal.is_default = proposal.params == defaults_;
  const bool banned = banned_.contains(proposal.params);
  results_.push_back({std::make_shared<const planner::Proposal>(std::move(proposal)), row, banned});
  if (banned || !IsUsable(row)) return;
  if (progress_us_ == 0 || LeastUs(row) < progress_us_ * (1 - kWorthwhileGain)) {
    progress_us_ = LeastUs(row);
    progress_at_ = std::ssize(results_);
  }
}

void SlotResults::Correct(const kernels::Params& params, const Row& row) {
  SlotResult* known = Known(params);
  FETTLE_CHECK(known != nullptr, "a set that was never measured");
  known->row = row;
}

void SlotResults::Ban(const kernels::Params& params) {
  banned_.insert(params);
  if (SlotResult* known = Known(params); known != nullptr) known->banned = true;
}

const SlotResult* SlotResults::Best() const {
  const SlotResult* best = nullptr;
  for (const SlotResult& result : results_) {
    if (result.banned || !IsUsable(result.row)) continue;
    if (best == nullptr || LeastUs(result.row) < LeastUs(best->row)) best = &result;
  }
  return best;
}

const SlotResult* SlotResults::BestTimed() const {
  const SlotResult* best = nullptr;
  for (const SlotResult& result : results_) {
    if (!IsTimed(result)) continue;
    if (best == nullptr || result.row.median_us < best->row.median_us) best = &result;
  }
  return best;
}

double SlotResults::best_us() const {
  const SlotResult* best = BestTimed();
  return best == nullptr ? std::numeric_limits<double>::infinity() : best->row.median_us;
}

std::vector<planner::Proposal> SlotResults::finalists(size_t most) const {
  std::vector<const SlotResult*> close;
  const double best = best_us();
  for (const SlotResult& result : results_) {
    if (IsTimed(result) && result.row.low_us <= best &&
        result.row.median_us <= best * (1 + kFinalistShare))
      close.push_back(&result);
  }
  std::stable_sort(close.begin(), close.end(), [](const SlotResult* a, const SlotResult* b) {
    return a->row.median_us < b->row.median_us;
  });
  std::vector<planner::Proposal> finalists;
  for (const SlotResult* result : close)
    if (finalists.size() < most) finalists.push_back(*result->proposal);
  return finalists;
}

planner::EntryCost SlotResults::CostOf(const SlotResult& result) const {
  auto proposal = std::make_shared<planner::Proposal>(*result.proposal);
  proposal->evaluations = std::ssize(results_);
  return {.us = LeastUs(result.row),
          .measured = result.row.status == Row::Status::kOk,
          .seen_us = LeastUs(result.row),
          .host_us = result.row.host_us,
          .error = result.row.error,
          .proposal = std::move(proposal)};
}

std::string SlotResults::WhyNone() const {
  const auto failed = std::find_if(results_.begin(), results_.end(), [](const SlotResult& result) {
    return !IsUsable(result.row) && !result.row.reason.empty();
  });
  return failed == results_.end() ? "it failed before" : failed->row.reason;
}

}  // namespace fettle::tuner
