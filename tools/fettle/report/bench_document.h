// The JSON of `fettle bench`.
#pragma once

#include "io/json.h"
#include "jobs/bench_runs.h"
#include "jobs/plans.h"
#include "report/roofline.h"

namespace fettle::tools {

/// All but what other parts of the command add: the plan, several sessions at once, and an earlier
/// run. `bound`: whether inputs and outputs were tensors in the device's memory.
Json BenchDocument(const JobOptions& options, bool bound, const Job& job, const BenchResult& result,
                   const Prediction& prediction, Roofline& roofline);

}  // namespace fettle::tools
