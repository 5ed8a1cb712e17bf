#include "solver/bounded/bounded_root.h"

#include <algorithm>
#include <cmath>

#include "solver/bounded/tree_search.h"
#include "solver/network/memory_steps.h"

namespace fettle::solver {
namespace {

/// Passes before prices move, and between looks for assignments and for values to drop.
constexpr int64_t kFirstPasses = 30;
constexpr int64_t kRoundEvery = 4;
constexpr int64_t kFixEvery = 32;
/// Passes without noticeable progress after which a bound counts as settled.
constexpr int64_t kPatience = 200;
/// Simplifying again takes at least this share of values dropped.
constexpr double kWorthDropping = 0.03;
/// Overloaded steps that are looked at from then on, per assignment.
constexpr size_t kStepsAtOnce = 4;
/// Aim of the first steps of prices, as a share of the bound, and the pass at which it has halved.
constexpr double kFirstGain = 0.02;
constexpr double kHalfGain = 200;
/// First temperatures of local searches, as shares of the gap.
constexpr double kHeats[] = {0.02, 0.01, 0.005, 0.0025, 0.04, 0.02, 0.01, 0.005};
constexpr int64_t kMovesPerSearch = 4000;

/// `values` of the problem that was simplified, where the simpler one still has them; else 0.
Assignment WhatIsLeft(const Simplified& simplified, const Assignment& values) {
  Assignment left(simplified.value_of.size(), 0);
  for (size_t v = 0; v < left.size() && !values.empty(); ++v) {
    const std::vector<int>& known = simplified.value_of[v];
    const int value = values[Index(simplified.variable_of[v])];
    const auto place = std::find(known.begin(), known.end(), value);
    if (place != known.end()) left[v] = static_cast<int>(place - known.begin());
  }
  return left;
}

}  // namespace

Cost RoundedDown(Cost bound) { return bound - 1e-9 * std::abs(bound); }

BoundedRoot::BoundedRoot(const LimitedNetwork& problem, Incumbent& incumbent)
    : problem_(problem), incumbent_(incumbent), full_(problem) {
  Tighten();
}

Cost BoundedRoot::Gap() const {
  return std::min(incumbent_.cost - bound_, std::max(std::abs(bound_), 1e-9));
}

void BoundedRoot::Tighten() {
  Simplified simplified = Simplify(full_);
  if (!simplified.feasible) {
    solved_ = true;
    return;
  }
  full_ = simplified.problem;
  std::vector<std::pair<int, double>> moved;  // step that is looked at, and its price
  for (size_t i = 0; i < steps_.size(); ++i) {
    const int step = simplified.new_step[Index(steps_[i])];
    if (step < 0) continue;
    if (moved.empty() || moved.back().first != step) moved.emplace_back(step, 0);
    moved.back().second += prices_[i];
  }
  steps_.clear();
  prices_.clear();
  for (const auto& [step, price] : moved) {
    steps_.push_back(step);
    prices_.push_back(price);
  }
  start_ = WhatIsLeft(simplified, start_);
  chain_.push_back(std::move(simplified));
  UpdateRelaxed();
  if (full_.network.variables() > 0) return;
  Offer({});
  solved_ = true;
}

void BoundedRoot::UpdateRelaxed() { relaxed_ = OnlySteps(full_, steps_); }

bool BoundedRoot::Offer(const Assignment& values) {
  if (Sum(full_.network, values) >= incumbent_.cost) return true;
  if (LookAtWorst(values)) return false;
  Assignment original = values;
  for (size_t i = chain_.size(); i-- > 0;) original = chain_[i].Restore(original);
  const Cost cost = Sum(problem_.network, original);
  if (cost >= incumbent_.cost) return true;
  if (!Fits(problem_, original)) return true;
  incumbent_ = {std::move(original), cost};
  start_ = values;
  return true;
}

bool BoundedRoot::LookAtWorst(const Assignment& values) {
  bool is_new = false;
  for (const int step : WorstSteps(full_, values, kStepsAtOnce)) {
    const auto place = std::lower_bound(steps_.begin(), steps_.end(), step);
    if (place != steps_.end() && *place == step) continue;
    prices_.insert(prices_.begin() + (place - steps_.begin()), 0);
    steps_.insert(place, step);
    is_new = true;
  }
  if (is_new) UpdateRelaxed();
  return is_new;
}

void BoundedRoot::Raise(int64_t passes, const Deadline& deadline) {
  most_passes_ = passes_ + passes;
  since_progress_ = 0;
  while (!solved()) {
    DualBound dual(relaxed_);
    dual.SetPrices(prices_);
    const Outcome outcome = RaiseOnce(dual, deadline);
    if (outcome == Outcome::kSettled) return;
    if (outcome == Outcome::kFewerValues) Tighten();
  }
}

BoundedRoot::Outcome BoundedRoot::RaiseOnce(DualBound& dual, const Deadline& deadline) {
  Cost highest = -kForbidden;
  while (passes_ < most_passes_) {
    dual.Pass();
    ++passes_;
    const Cost bound = RoundedDown(dual.bound());
    if (bound > highest) {
      highest = bound;
      prices_ = dual.prices();
      bound_ = std::max(bound_, bound);
    }
    if (passes_ % kRoundEvery == 0) {
      const auto rounded = dual.Round();
      const bool fits = (!rounded || Offer(*rounded)) && !LookAtWorst(dual.cheapest());
      if (!fits) {
        full_.network = dual.Reparametrised().network;
        UpdateRelaxed();
        return Outcome::kMoreSteps;
      }
    }
    if (solved()) return Outcome::kSettled;
    since_progress_ = bound_ > settled_ + 1e-4 * Gap() ? 0 : since_progress_ + 1;
    if (since_progress_ == 0) settled_ = bound_;
    if (since_progress_ > kPatience || deadline.Passed()) return Outcome::kSettled;
    if (passes_ % kFixEvery == 0 && DropValues(dual)) return Outcome::kFewerValues;
    if (passes_ >= kFirstPasses) dual.StepPrices(StepGain());
  }
  return Outcome::kSettled;
}

Cost BoundedRoot::StepGain() const {
  const Cost most = kFirstGain * std::abs(bound_) / (1 + static_cast<double>(passes_) / kHalfGain);
  return std::min(most, Gap());
}

bool BoundedRoot::DropValues(const DualBound& dual) {
  const auto bounds = dual.BoundsByValue();
  std::vector<std::pair<size_t, size_t>> dropped;
  size_t all = 0;
  for (size_t v = 0; v < bounds.size(); ++v) {
    all += bounds[v].size();
    for (size_t x = 0; x < bounds[v].size(); ++x) {
      if (incumbent_.Beats(RoundedDown(bounds[v][x]))) dropped.emplace_back(v, x);
    }
  }
  if (static_cast<double>(dropped.size()) <= kWorthDropping * static_cast<double>(all)) {
    return false;
  }
  full_.network = dual.Reparametrised().network;
  for (const auto& [v, x] : dropped) full_.network.unary[v][x] = kForbidden;
  return true;
}

void BoundedRoot::SearchLocally(uint64_t seed, const Deadline& deadline) {
  std::vector<double> prices(full_.capacity.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) prices[Index(steps_[i])] = prices_[i];
  TreeSearchOptions search;
  search.moves = kMovesPerSearch;
  search.deadline = deadline;
  bool is_cold = false;
  for (const double heat : kHeats) {
    if (deadline.Passed() || solved()) return;
    search.seed = seed++;
    search.hottest = heat * Gap();
    search.coolest = search.hottest * 0.01;
    // The best one known is often deep in a valley: others start anywhere.
    is_cold = !is_cold;
    const Assignment from = is_cold ? Assignment(start_.size(), 0) : start_;
    const auto found = SearchByTrees(full_, prices, from, search);
    if (found) (void)Offer(*found);
  }
}

}  // namespace fettle::solver
