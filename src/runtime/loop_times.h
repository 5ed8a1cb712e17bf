// The times of steps that a loop runs again and again.
#pragma once

#include <cstddef>
#include <vector>

#include "exec/profile.h"

namespace fettle::runtime {

/// Adds up what iterations of a loop append to `times`, which outlives it, so that they take no
/// memory each: an iteration of the same steps as the last one goes into its rows. Where shapes
/// change between iterations the steps do, too: then only the first kMostForms have rows of their
/// own, and later ones go into those of the last, place by place, or into its last row where their
/// number differs.
class LoopTimes {
 public:
  static constexpr int kMostForms = 64;

  explicit LoopTimes(std::vector<exec::StepTime>& times)
      : times_(times), begin_(times.size()), end_(times.size()) {}
  /// What was appended since the last call is an iteration.
  void EndIteration();

 private:
  std::vector<exec::StepTime>& times_;
  size_t begin_, end_;  // of the last iteration that has rows
  int forms_ = 0;
};

/// How many steps ran.
size_t StepsRun(const std::vector<exec::StepTime>& times);
/// The row of a profile: its cost is that of all runs of the step.
exec::StepProfile ProfileOf(const exec::StepTime& time);

}  // namespace fettle::runtime
