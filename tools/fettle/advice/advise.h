// Advice to whoever designs a network: changes that were measured to make it faster here.
#pragma once

#include <string>
#include <vector>

#include "advice/gain.h"
#include "jobs/model_file.h"
#include "report/report.h"

namespace fettle::tools {

/// All changes of one network together.
struct AppliedAdvice {
  std::string bytes;  // the ONNX file
  size_t changes = 0;
  double predicted_gain = 0;  // of the single gains
  MeasuredChange whole;
};

/// Of trims that gain, so many are measured anew.
inline constexpr size_t kConfirmedTrims = 5;

struct Advice {
  std::vector<MeasuredChange> changes;  // all that were measured, the best first
  size_t found = 0;                     // by the rules, before any was measured
  std::vector<MeasuredChange> trims;    // fewer channels, measured once each, the best first
  size_t trims_found = 0;
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
/// {change, channels, places[] {writers[], channels_before, drop[], carried}, operations,
/// ms_before, ms_after, gain, low, high, gains} of all trims that were measured.
Json TrimsJson(const Advice& advice, const quantise::Network& network);
/// "18 % faster (16 to 20), 3 % more operations".
std::string GainText(const MeasuredChange& measured);

}  // namespace fettle::tools
