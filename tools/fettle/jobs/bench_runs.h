// Timed inferences.
#pragma once

#include <cstdint>
#include <vector>

#include "jobs/job.h"

namespace fettle::tools {

struct BenchLength {
  int iters = 0;  // 0: by time
  double seconds = 2;
  int warmup = 3;
};

struct BenchResult {
  double prepare_ms = 0, first_ms = 0;
  std::vector<double> latencies;
  std::vector<double> host_ms;  // of the calling thread beside waiting, with an accelerator
  std::vector<exec::StepProfile> steps;  // mean over the timed runs
  runtime::MemoryInfo memory;
  Transfers transfers;  // of one inference
  int64_t peak_rss_bytes = 0;
  bool interrupted = false;
};

/// Prepares, runs a first time, warms up and times inferences. An interruption ends that early.
Status Measure(const BenchLength& length, const Job& job, runtime::Session& session,
               BenchResult& result);

/// The steps of runs that wait for each of them, on the plans of `timed`: an accelerator's steps
/// are only enqueued in others. Takes no longer than the timed runs did, but for the first.
Status MeasureSteps(const Job& job, const runtime::Session& timed, runtime::SessionOptions options,
                    BenchResult& result);

}  // namespace fettle::tools
