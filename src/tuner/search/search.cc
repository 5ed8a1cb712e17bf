#include "tuner/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fettle::tuner {
namespace {

/// Of so many past measurements the longest is what the next is expected to take.
constexpr size_t kDurations = 8;
/// How often in a row a strategy may pass over measured points before a random one is taken.
constexpr int kMaxRevisits = 64;

bool IsTime(const std::optional<double>& ms) { return ms && std::isfinite(*ms) && *ms > 0; }

}  // namespace

Result<std::unique_ptr<Search>> Search::Create(SearchSpace space, SearchOptions options) {
  const StrategyRow* const strategy = FindStrategy(options.strategy);
  if (!strategy)
    return InvalidArgument("strategy '{}': expected {}", options.strategy, StrategyNames());
  if (options.max_evaluations < 0 || !(options.max_seconds >= 0))
    return InvalidArgument("a search budget of {} evaluations and {} seconds: expected 0 or more",
                           options.max_evaluations, options.max_seconds);
  return std::unique_ptr<Search>(new Search(std::move(space), std::move(options), *strategy));
}

Search::Search(SearchSpace space, SearchOptions options, const StrategyRow& strategy)
    : options_(std::move(options)),
      history_(std::move(space)),
      random_(options_.seed ^ 0x5eed),
      start_ns_(options_.now_ns()) {
  for (Evaluation& evaluation : options_.journal)
    if (history_.space().Valid(evaluation.point))
      journal_.emplace(history_.space().IndexOf(evaluation.point), std::move(evaluation));
  options_.journal.clear();
  strategy_ = strategy.make({.history = &history_, .seed = options_.seed});
}

double Search::seconds() const { return static_cast<double>(options_.now_ns() - start_ns_) * 1e-9; }

std::optional<Point> Search::Ask() {
  if (asked_) return asked_;
  while (!asked_) {
    if (OverBudget()) return std::nullopt;
    std::optional<Point> next = NextSeed();
    of_strategy_ = !next;
    if (!next) next = NextOfStrategy();
    if (!next) {
      end_ = End::kExhausted;
      return std::nullopt;
    }
    asked_ = std::move(next);
    const auto known = journal_.find(history_.space().IndexOf(*asked_));
    if (known == journal_.end()) break;
    Evaluation evaluation = std::move(known->second);
    journal_.erase(known);
    Record(std::move(evaluation));
  }
  asked_ns_ = options_.now_ns();
  return asked_;
}

/// Seconds are over where the next measurement would not end in time if it takes as long as the
/// longest of the last few.
bool Search::OverBudget() {
  if (static_cast<int64_t>(history_.size()) >= options_.max_evaluations) {
    end_ = End::kEvaluations;
    return true;
  }
  const auto longest = std::max_element(durations_ns_.begin(), durations_ns_.end());
  const double next = longest == durations_ns_.end() ? 0 : static_cast<double>(*longest) * 1e-9;
  if (seconds() + next > options_.max_seconds || seconds() >= options_.max_seconds) {
    end_ = End::kSeconds;
    return true;
  }
  return false;
}

std::optional<Point> Search::NextSeed() {
  while (next_seed_ < options_.seeds.size()) {
    const Point& seed = options_.seeds[next_seed_++];
    if (history_.space().Valid(seed) && !history_.Contains(seed)) return seed;
  }
  return std::nullopt;
}

/// Points that the strategy passes again are answered from the history.
std::optional<Point> Search::NextOfStrategy() {
  for (int revisit = 0; revisit < kMaxRevisits; ++revisit) {
    std::optional<Point> point = strategy_->Ask();
    if (!point) break;
    const Evaluation* known = history_.Find(*point);
    if (!known) return point;
    strategy_->Tell(*known);
  }
  of_strategy_ = false;
  return RandomUnseen(history_, random_);
}

void Search::Tell(std::optional<double> ms) {
  FETTLE_CHECK(asked_.has_value(), "Tell without Ask");
  durations_ns_.push_back(options_.now_ns() - asked_ns_);
  if (durations_ns_.size() > kDurations) durations_ns_.pop_front();
  Record({*asked_, ms});
}

void Search::Record(Evaluation evaluation) {
  if (!IsTime(evaluation.ms)) evaluation.ms.reset();
  history_.Add(evaluation);
  asked_.reset();
  if (of_strategy_) strategy_->Tell(evaluation);
}

}  // namespace fettle::tuner
