// The parameters of a slot as a search space, and known good sets in it. Only this file knows how
// kernels declare their parameters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "planner/cost_source.h"
#include "tuner/search/space.h"

namespace fettle::tuner {

/// What may be varied.
struct SlotScope {
  /// False: only what compiles nothing new: all parameters of the CPU's kernels, and work-groups.
  bool compiles = true;
  /// Arithmetic that takes all values for finite, and is less exact ("fast_math").
  bool relaxed_math = false;

  bool Allows(const kernels::Params& params) const;
};

/// Immutable.
class SlotSpace {
 public:
  /// The kernel's own tunables and those of its launches; none where there is nothing to vary.
  /// Prepares the kernel with its default parameters. `states`: index of match->states().
  static std::optional<SlotSpace> Create(const std::shared_ptr<const kernels::Match>& match,
                                         int states, int threads, const Device& device,
                                         const SlotScope& scope);

  const SearchSpace& space() const { return space_; }
  kernels::Params ParamsOf(const Point& point) const;
  /// None where the set is not one of the space.
  std::optional<Point> PointOf(const kernels::Params& params) const;

  /// Sets that rules of thumb propose, those of each rule in its order; equal sets of several rules
  /// stand there for each.
  const std::vector<planner::Proposal>& rules() const { return rules_; }
  /// At most four sets that differ from the default one in one parameter of the kernel's own by one
  /// value, upwards first.
  const std::vector<planner::Proposal>& neighbours() const { return neighbours_; }

 private:
  class Maker;
  explicit SlotSpace(SearchSpace space) : space_(std::move(space)) {}

  std::shared_ptr<const kernels::Match> match_;  // checks of points may refer to it
  SearchSpace space_;
  std::vector<bool> of_launch_;  // by parameter: left out of sets where it is 0
  std::vector<planner::Proposal> rules_, neighbours_;
};

}  // namespace fettle::tuner
