// The root of branch and bound: what is left of a problem after all that holds for every better
// assignment has been used.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "solver/bounded/dual_bound.h"
#include "solver/network/limited.h"
#include "solver/network/simplify.h"

namespace fettle::solver {

/// The best assignment so far.
struct Incumbent {
  Assignment values;
  Cost cost = kForbidden;

  /// True where nothing above `bound` is better by more than rounding errors.
  bool Beats(Cost bound) const { return bound >= cost * (1 - 2e-9) - 1e-9; }
};

/// `bound` less the rounding errors that it may have summed up.
Cost RoundedDown(Cost bound);

/// A shrinking problem with prices on its memory. Few of the steps are looked at: those where some
/// assignment that came up did not fit. The others are a constraint that is left out, which keeps
/// every bound valid.
class BoundedRoot {
 public:
  BoundedRoot(const LimitedNetwork& problem, Incumbent& incumbent);

  /// Message passes, prices and drops of values, `passes` at most, until the bound settles.
  void Raise(int64_t passes, const Deadline& deadline);
  /// Local search for better assignments.
  void SearchLocally(uint64_t seed, const Deadline& deadline);

  /// True where the incumbent is known to be the best, or that there is none.
  bool solved() const { return solved_ || incumbent_.Beats(bound_); }
  Cost bound() const { return solved_ ? incumbent_.cost : bound_; }
  Cost Gap() const;

  /// With the steps that are looked at, and their prices.
  const LimitedNetwork& relaxed() const { return relaxed_; }
  const std::vector<double>& prices() const { return prices_; }

  /// Takes an assignment of `relaxed`. False where it does not fit at a step that was not looked
  /// at and now is.
  bool Offer(const Assignment& values);

 private:
  enum class Outcome { kSettled, kFewerValues, kMoreSteps };
  Outcome RaiseOnce(DualBound& dual, const Deadline& deadline);
  void Tighten();
  bool DropValues(const DualBound& dual);
  bool LookAtWorst(const Assignment& values);
  void UpdateRelaxed();
  Cost StepGain() const;

  const LimitedNetwork& problem_;
  Incumbent& incumbent_;
  LimitedNetwork full_;            // all steps
  std::vector<Simplified> chain_;  // from the problem to `full_`
  std::vector<int> steps_;         // of `full_`, that are looked at
  LimitedNetwork relaxed_;         // `full_` with `steps_` only
  std::vector<double> prices_;     // by step of `relaxed_`
  Assignment start_;               // of local search
  Cost bound_ = -kForbidden;
  Cost settled_ = -kForbidden;  // the bound when it last rose noticeably
  int64_t passes_ = 0;
  int64_t most_passes_ = 0;
  int64_t since_progress_ = 0;
  bool solved_ = false;
};

}  // namespace fettle::solver
