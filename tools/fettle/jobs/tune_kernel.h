// fettle tune-kernel: its options, and the search on a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/options.h"
#include "report/report.h"
#include "tuner/search/search.h"

namespace fettle::tools {

struct TuneKernelOptions {
  CommonOptions common;
  std::string spec, strategy = "local", replay, resume, output;
  std::vector<std::string> known;
  int64_t evals = 128;
  double budget = 0;  // seconds; 0: none
};

/// Strategy, budgets, seeds and journal that the options name.
Result<tuner::SearchOptions> MakeSearchOptions(const TuneKernelOptions& options,
                                               const tuner::SearchSpace& space);
Json ParametersJson(const tuner::SearchSpace& space, const tuner::Point& point);

/// Tunes the kernel of options.spec, whose parameters are `space`, on an OpenCL device; the exit
/// code. Exit code 5 where no configuration gave the right result.
int TuneOnDevice(const TuneKernelOptions& options, const tuner::SearchSpace& space);

}  // namespace fettle::tools
