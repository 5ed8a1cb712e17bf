// How many of its threads a session uses for a run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace fettle::runtime {

/// Chooses the number of lanes that was fastest lately: all threads, half of them, a quarter ... or
/// one. Fewer are faster where other programs hold cores, or steps end before workers start, which
/// no plan can know. Now and then a run tries the next smaller or larger number. Such trials take a
/// small share of the time, which shrinks the more clearly they fail. The number of lanes changes
/// no byte of the results. Not synchronised.
class LaneChoice {
 public:
  explicit LaneChoice(int threads);

  /// Of the next run.
  int lanes() const { return levels_[Level()]; }
  /// What that run took. The runs must do the same work until Forget.
  void Add(int64_t ns);
  /// Other work begins: earlier times no longer count.
  void Forget();

 private:
  static constexpr int kKept = 16;
  /// Of runs of one level, the latest kKept.
  class Times {
   public:
    void Add(int64_t ns);
    void Clear() { count_ = 0; }
    int count() const { return count_ < kKept ? static_cast<int>(count_) : kKept; }
    /// The mean without the longest time: means show late lanes, but one time slice of another
    /// program should not count.
    double Mean() const;

   private:
    int64_t ns_[kKept] = {};
    int64_t count_ = 0;
  };

  size_t Level() const { return tries_ ? tried_ : chosen_; }
  bool HasOther() const { return levels_.size() > 1; }
  void AddChosen(int64_t ns);
  void AddTrial(int64_t ns);
  void BeginTrials();
  void EndTrials(bool take);
  double ExpectedCost() const;

  std::vector<int> levels_;  // falling
  size_t chosen_ = 0, tried_ = 0;
  bool tries_ = false;  // in the next run
  bool down_next_ = true;
  int wakes_ = 0;  // so many trials find workers asleep and do not count
  int rests_ = 0;  // nor do so many runs as chosen
  Times chosen_times_, trial_times_;
  double share_;          // of the time that trials may cost
  double allowance_ = 0;  // ns
  double usual_ns_ = 0;   // as chosen
};

/// The lanes of runs whose inputs may change. Not synchronised.
class RunLanes {
 public:
  /// All threads, where it does not adapt.
  RunLanes(int threads, bool adapts)
      : threads_(threads), adapts_(adapts && threads > 1), choice_(threads) {}

  /// Of a run of `inputs`.
  int Begin(std::span<const Tensor> inputs);
  /// The run took `ns` for this many steps, which depend on data where there are loops.
  void End(int64_t ns, size_t steps);

 private:
  int threads_;
  bool adapts_;
  LaneChoice choice_;
  std::vector<Shape> shapes_;
  size_t steps_ = 0;
};

}  // namespace fettle::runtime
