// A ceiling as a row of a table: a name and a function that measures it.
#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/ceiling.h"

namespace fettle::kernels {

/// The result of one run in the unit of its row, and how long it took.
struct ProbeSample {
  double figure = 0;
  double ns = 0;
};

struct ProbeRow {
  CeilingName name;
  bool for_bounds = false;
  Status runs;  // kUnsupported: why not here
  /// Does an amount of work, which is raised until a run is long enough for the clock. Fails where
  /// the results are not those of that much work.
  std::function<Result<ProbeSample>(int64_t amount)> run = nullptr;
  int64_t most = std::numeric_limits<int64_t>::max();  // of the amount
};

/// The failure of a run with wrong results: part of the work was left out.
Status WrongResult();

/// Finds the amount of work that takes `long_enough_ns`, which warms up, and repeats it seven
/// times, what takes over 20 ms five times. Failures are the ceiling's status.
Ceiling MeasureRow(const ProbeRow& row, double long_enough_ns);

/// Those of `rows` that `request` asks for, measured until it is cancelled (kCancelled from there).
std::vector<Ceiling> MeasureRows(const std::vector<ProbeRow>& rows, const ProbeRequest& request,
                                 double long_enough_ns);

}  // namespace fettle::kernels
