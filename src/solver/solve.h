// Solving an assignment problem exactly, or with a certified gap.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "solver/problem/problem.h"

namespace fettle::solver {

struct Options {
  /// auto | ve | sweep | capped | pbqp | single:STATE | brute. "auto" takes variable elimination or
  /// the live-set sweep, whichever is predicted smaller, and branch and bound where both are too
  /// big. "capped" (a beam, as MegEngine's sweep), "pbqp" and "single:STATE" (one state wherever a
  /// choice has it) are for comparison; "brute" for small problems only.
  std::string_view method = "auto";
  /// Time after which branch and bound returns what it has, with its bound.
  double seconds = 60;
  /// Bytes of tables above which elimination and sweep count as too big.
  int64_t table_bytes = 256LL << 20;
  uint64_t seed = 1;
  /// Set from any thread: ends the search as the end of the time does; null: never.
  const std::atomic<bool>* cancelled = nullptr;
};

/// What the solver did.
struct Report {
  std::string method;  // of the largest block
  int64_t choices_before = 0;
  int64_t choices_after = 0;  // after dominance
  int width = 0;              // of the elimination order, in variables
  int64_t largest_table = 0;  // entries
  double seconds = 0;
};

/// Fails with kInvalidArgument (see Validate), kUnsupported where no cover keeps the limits or the
/// method does not fit the problem. Deterministic for equal seeds unless time runs out.
Result<Solution> Solve(const Problem& problem, const Options& options, Report* report = nullptr);

}  // namespace fettle::solver
