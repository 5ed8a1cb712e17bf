// Advice to whoever designs a network: changes that were measured to make it faster here.
#pragma once

#include <string>
#include <vector>

#include "advice/change.h"
#include "jobs/job.h"
#include "jobs/model_file.h"
#include "report/report.h"

namespace fettle::tools {

struct AdviceOptions {
  double seconds = 1;  // of the longest comparison of one change
  double budget = 60;  // of all comparisons
};

/// A change beside the network as it is, both on their default plans, run in turns.
struct MeasuredChange {
  Change change;
  int64_t macs_before = 0, macs_after = 0;
  double ms_before = 0, ms_after = 0;  // of an inference, medians
  double ratio = 1;                    // of neighbouring runs, the median
  double low = 0, high = 0;            // 99 % confidence of it
  bool gains = false;                  // beyond the spread, and over 1 %

  double gain() const { return 1 - ratio; }
  /// Share of the operations that comes with it.
  double operations() const {
    return macs_before > 0 ? static_cast<double>(macs_after) / static_cast<double>(macs_before) - 1
                           : 0;
  }
};

/// All changes of one network together.
struct AppliedAdvice {
  std::string bytes;  // the ONNX file
  size_t changes = 0;
  double predicted_gain = 0;  // of the single gains
  MeasuredChange whole;
};

struct Advice {
  std::vector<MeasuredChange> changes;   // all that were measured, the best first
  size_t found = 0;                      // by the rules, before any was measured
  std::vector<exec::StepProfile> steps;  // of the network as it is
  double ms = 0;
  std::vector<std::string> warnings;
};

/// Lists changes of the network, those of its slowest places first, and measures each within the
/// budget. Inference inputs and devices are those of `job`. Fails with kInvalidArgument on networks
/// of integers; kCancelled after Ctrl-C.
Result<Advice> Advise(const AdviceOptions& options, const Job& job, const ModelFile& file,
                      uint64_t seed);

/// Puts all changes that gain into one network, the best of each place, and measures it.
Result<AppliedAdvice> ApplyAdvice(const AdviceOptions& options, const Job& job,
                                  const ModelFile& file, const Advice& advice, uint64_t seed);

/// {rule, change, nodes[], same_function, operations, ms_before, ms_after, gain, low, high} of the
/// changes that gain, or of those that do not.
Json AdviceJson(const Advice& advice, const quantise::Network& network, bool gains);
/// "18 % faster (16 to 20), 3 % more operations".
std::string GainText(const MeasuredChange& measured);

}  // namespace fettle::tools
