// Branch and bound for networks with memory limits that are too big for elimination: an assignment
// and a bound, as good as time allows.
#pragma once

#include <atomic>
#include <cstdint>

#include "solver/network/limited.h"

namespace fettle::solver {

struct BoundedOptions {
  double seconds = 60;
  /// Ends the search as the end of the time does; null: never.
  const std::atomic<bool>* cancelled = nullptr;
  /// Subproblems that are branched on, at most, and message passes at the root, at most. Where
  /// neither time ends the search first, equal seeds give equal results.
  int64_t nodes = INT64_MAX;
  int64_t root_passes = 20'000;
  uint64_t seed = 1;
};

struct Bounded {
  Assignment values;         // empty: none was found
  Cost cost = kForbidden;    // of `values`
  Cost bound = -kForbidden;  // no assignment that is allowed and fits costs less
  int64_t nodes = 0;         // subproblems looked at
  int variables_left = 0;    // after the first reduction
};

/// Fails with kInvalidArgument (see Validate), with kUnsupported where no assignment is allowed
/// and fits.
Result<Bounded> SolveBounded(const LimitedNetwork& problem, const BoundedOptions& options);

}  // namespace fettle::solver
