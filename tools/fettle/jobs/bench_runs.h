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

/// Inferences whose inputs and outputs are tensors of the caller's in the memory of the session's
/// device (host memory where it has none), row-major: made and filled once, before the first.
class BoundRuns {
 public:
  static Result<BoundRuns> Create(const Job& job, runtime::Session& session);
  Status Run(runtime::Session& session);
  /// Of the tensors' own maps.
  Transfers transfers() const;

 private:
  runtime::BufferMap inputs_, outputs_;
};

struct BenchResult {
  double prepare_ms = 0, first_ms = 0;
  exec::PreparationTimes preparation;  // within prepare_ms
  std::vector<double> latencies;
  int64_t runs_on_fewer = 0;    // threads than the session has, which was faster
  std::vector<double> host_ms;  // of the calling thread beside waiting, with an accelerator
  std::vector<exec::StepProfile> steps;  // mean over the timed runs
  runtime::MemoryInfo memory;
  Transfers transfers;  // of one inference
  int64_t peak_rss_bytes = 0;
  bool interrupted = false;
};

/// Prepares, runs a first time, warms up and times inferences, on BoundRuns where they are
/// `bound`. An interruption ends that early.
Status Measure(const BenchLength& length, const Job& job, bool bound, runtime::Session& session,
               BenchResult& result);

/// The steps of runs that wait for each of them, on the plans of `timed`: an accelerator's steps
/// are only enqueued in others. Takes no longer than the timed runs did, but for the first.
Status MeasureSteps(const Job& job, const runtime::Session& timed, runtime::SessionOptions options,
                    BenchResult& result);

/// Inferences per second of `sessions` sessions together, each on a thread and, beside the CPU, a
/// queue of its own, for `seconds`. Inputs and outputs are tensors of the host, so that transfers
/// of one session overlap with the work of others. Weights are shared; the CPU's threads are
/// divided. An interruption ends it early. Fails as a run does.
Result<double> ThroughputAtOnce(const Job& job, const runtime::SessionOptions& options,
                                int sessions, double seconds);

}  // namespace fettle::tools
