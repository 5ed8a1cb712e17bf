// What `fettle tune` does for a range of shapes.
#pragma once

#include <string>

#include "jobs/tuning.h"
#include "ranges/shape_ranges.h"

namespace fettle::tools {

/// The options with the largest size of the ranges as their shapes.
JobOptions AtLargest(JobOptions options, const tuner::ShapeRanges& ranges);

/// TuneJob for all sizes of `ranges`; `job` was made of AtLargest(options).
Result<tuner::TuneRangeResult> TuneJobRange(const Job& job, const JobOptions& options,
                                            const tuner::ShapeRanges& ranges,
                                            const TuningOptions& tuning, tuner::Store& store,
                                            int64_t start_ns);

/// `range` of docs/cli.md's row `tune`.
Json RangeJson(const tuner::ShapeRanges& ranges, const tuner::TuneRangeResult& result);
/// A line for each size and each regime.
std::string RangeReport(const tuner::TuneRangeResult& result);

}  // namespace fettle::tools
