// What `fettle report` shows of a model, gathered: times, operators and why they are what they are,
// accuracy, the device.
#pragma once

#include <vector>

#include "advice/advise.h"
#include "jobs/job.h"
#include "jobs/tuning.h"
#include "report/report.h"

namespace fettle::tools {

struct ModelReportOptions {
  JobOptions job;
  /// A budget of 0: nothing is tuned; the plans are those that `fettle run` takes.
  TuningOptions tuning;
  double seconds = 2;    // of timed inferences, and of comparing plans
  bool accuracy = true;  // against the scalar reference, which may take long
  bool advice = true;
  AdviceOptions advising{.seconds = 0.5, .budget = 15, .trims = false};
};

struct ModelReport {
  /// The page's data: {model, version, latency_ms {}, comparison {}, memory {}, ops[] {},
  /// reasons[], history {}, accuracy {}, ceilings[], cpu {}, device {}, precision {}, warnings[],
  /// ...}.
  Json data;
  std::vector<exec::StepProfile> steps;
};

/// Runs the model on this device for a few seconds. Adds to `job.warnings`. Fails as the runs do;
/// kCancelled after Ctrl-C.
Result<ModelReport> MakeModelReport(const ModelReportOptions& options, Job& job);

}  // namespace fettle::tools
