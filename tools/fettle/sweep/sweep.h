// Measuring the points of a grid, each a network of one operator on its default plan.
#pragma once

#include <vector>

#include "jobs/options.h"
#include "report/report.h"
#include "runtime/session.h"
#include "sweep/sweep_file.h"

namespace fettle::tools {

struct SweepResult {
  int64_t measured = 0, reused = 0;
  bool interrupted = false;
};

/// Measures the points that `file` does not have, one after the other, and adds them. Ctrl-C ends
/// it after the point in hand. Fails as sessions do, naming the point, and as SweepFile::Add.
Result<SweepResult> RunSweep(const SweepNetwork& network, const std::vector<SweepPoint>& points,
                             const runtime::SessionOptions& session, SweepFile& file);

/// What the page of a heat map shows: {operator, type, axes[], rows[], ...}, of the points alone.
Json SweepJson(const SweepNetwork& network, const std::vector<SweepPoint>& points,
               const SweepFile& file);

}  // namespace fettle::tools
