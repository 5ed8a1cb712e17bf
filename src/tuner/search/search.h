// A search as the caller drives it: ask for a configuration, measure it, tell what came of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "tuner/search/history.h"
#include "tuner/search/strategy.h"

namespace fettle::tuner {

struct SearchOptions {
  std::string strategy = "local";
  uint64_t seed = 0;
  /// Both may bind; seeds and what is taken from the journal count as evaluations.
  int64_t max_evaluations = std::numeric_limits<int64_t>::max();
  double max_seconds = std::numeric_limits<double>::infinity();
  /// Measured first, in this order; invalid ones are left out. Known good configurations: defaults,
  /// the best of other devices.
  std::vector<Point> seeds;
  /// What an earlier run of the search measured. With equal options the search goes on as if it had
  /// never stopped; with others it still measures none of these again.
  std::vector<Evaluation> journal;
  /// Monotonic nanoseconds.
  std::function<int64_t()> now_ns = NowNs;
};

/// Belongs to one thread.
class Search {
 public:
  /// Fails with kInvalidArgument where there is no such strategy or a budget is negative.
  static Result<std::unique_ptr<Search>> Create(SearchSpace space, SearchOptions options);

  /// A valid configuration that was never measured, the same until Tell; none when the search is
  /// over.
  std::optional<Point> Ask();
  /// The time of the configuration asked for; none, or a time that is not positive and finite: it
  /// failed to build or to run, or gave wrong results.
  void Tell(std::optional<double> ms);

  enum class End { kNone, kEvaluations, kSeconds, kExhausted };
  /// Why Ask had nothing. kExhausted: all valid configurations within reach were measured.
  End end() const { return end_; }

  const History& history() const { return history_; }
  /// Null while nothing has a time.
  const Evaluation* best() const { return history_.best(); }
  double seconds() const;

 private:
  Search(SearchSpace space, SearchOptions options, const StrategyRow& strategy);
  bool OverBudget();
  std::optional<Point> NextSeed();
  std::optional<Point> NextOfStrategy();
  void Record(Evaluation evaluation);

  SearchOptions options_;
  History history_;
  std::unordered_map<uint64_t, Evaluation> journal_;  // what is not yet in the history
  std::unique_ptr<Strategy> strategy_;
  Random random_;
  std::optional<Point> asked_;
  bool of_strategy_ = false;
  size_t next_seed_ = 0;
  End end_ = End::kNone;
  int64_t start_ns_;
  int64_t asked_ns_ = 0;
  std::deque<int64_t> durations_ns_;  // of the last few measurements
};

}  // namespace fettle::tuner
