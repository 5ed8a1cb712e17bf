// The times of steps that a loop runs again and again.
#pragma once

#include <cstddef>
#include <vector>

#include "exec/profile.h"

namespace fettle::runtime {

/// Adds up the times that iterations of a loop append to `times`, which must outlive it, so that
/// iterations need no memory each. An iteration with the same steps as the last one is added to its
/// rows. Where shapes change between iterations, the steps do too: only the first kMostForms forms
/// have rows of their own. Later forms are added to those of the last, place by place, or to its
/// last row where the number of steps differs.
class LoopTimes {
 public:
  static constexpr int kMostForms = 64;

  explicit LoopTimes(std::vector<exec::StepTime>& times)
      : times_(times), begin_(times.size()), end_(times.size()) {}
  /// The times appended since the last call are one iteration.
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
