// One model, planned in several ways, whole networks in interleaved runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/job.h"
#include "tuner/network/gate.h"
#include "tuner/network/tune.h"

namespace fettle::tools {

struct ContestOptions {
  CommonOptions common;
  tuner::Level level = tuner::Level::kNormal;
  /// For the interleaved runs; for tuning (0: no limit).
  double seconds = 2;
  double budget = 0;
  /// Measures everything once too, to see what measuring only what the optimum uses loses.
  bool exhaustive = false;
};

/// One way to plan, with the median time of its network.
struct Standing {
  std::string name;
  double ms = 0;
};

/// Of the tuned plan: all steps of a kernel, measured alone and in the network.
struct KernelTimes {
  int steps = 0;
  double predicted_us = 0, network_us = 0;
};

struct ContestResult {
  double default_ms = 0, tuned_ms = 0, capped_ms = 0;
  std::vector<Standing> singles;  // layouts
  tuner::GateResult gate;         // tuned against default
  double predicted_ms = 0;
  double steps_ms = 0;  // sum of the tuned plan's steps in the network
  std::map<std::string, KernelTimes> kernels;
  int64_t entries = 0, measured = 0;
  double tune_seconds = 0;
  /// Where everything was measured: its number of entries and its optimum.
  int64_t all_entries = 0;
  double all_predicted_ms = 0;

  const Standing* BestSingle() const;
  /// What a user gets: the default plan where the gate keeps it.
  double chosen_ms() const { return gate.accepted ? tuned_ms : default_ms; }
};

Result<ContestResult> RunContest(const ContestOptions& options, const Job& job);

}  // namespace fettle::tools
