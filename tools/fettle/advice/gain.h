// What a change of a network gains on this device, measured.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "advice/change.h"
#include "jobs/job.h"
#include "model_report/planned_segments.h"

namespace fettle::tools {

struct AdviceOptions {
  double seconds = 1;  // of the longest comparison of one change
  double budget = 60;  // of all comparisons
  bool trims = true;   // whether networks of fewer channels are measured too
};

/// A change beside the network as it is, both on their default plans, run in turns.
struct MeasuredChange {
  Change change;
  int64_t macs_before = 0, macs_after = 0;
  double ms_before = 0, ms_after = 0;  // of an inference, medians
  double ratio = 1;                    // of neighbouring runs, the median
  double low = 0, high = 0;            // 99 % confidence of it
  bool gains = false;                  // beyond the spread, and over 1 %
  bool confirmed = false;              // measured anew, three times

  double gain() const { return 1 - ratio; }
  /// Share of the operations that comes with it.
  double operations() const {
    return macs_before > 0 ? static_cast<double>(macs_after) / static_cast<double>(macs_before) - 1
                           : 0;
  }
};

/// A network on its default plan.
class Runner {
 public:
  static Result<Runner> Create(const Job& job, std::shared_ptr<const runtime::Model> model);
  static Result<Runner> Create(const Job& job, std::string_view bytes);
  Status Run() { return session_->Run(inputs_, &outputs_); }
  const std::vector<exec::StepProfile>& steps() const { return session_->profile(); }
  const runtime::TensorMap& outputs() const { return outputs_; }
  const PlannedSegments& segments() const { return *segments_; }

 private:
  Runner() = default;
  std::shared_ptr<PlannedSegments> segments_;
  std::unique_ptr<runtime::Session> session_;
  runtime::TensorMap inputs_, outputs_;
};

/// Whether a network that is to compute the same does.
bool Agree(const Runner& before, const Runner& after);

/// Both in turns, until it is known whether there is a gain.
Result<MeasuredChange> Compare(const AdviceOptions& options, Runner& before, Runner& after);

/// A gain that is printed, measured while no other network is there. Where weights and tensors lie
/// is worth some percent of a short inference and is drawn again with each session: the gain is the
/// middle one of three, and counts where two of them gain.
Result<MeasuredChange> MeasureGain(const AdviceOptions& options, const Job& job,
                                   std::string_view original, std::string_view changed);

}  // namespace fettle::tools
