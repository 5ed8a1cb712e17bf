#include "device/gated_launches.h"

#include <algorithm>

namespace fettle {
namespace {

/// How long a gate lasts at first and at most.
constexpr double kFirstHoldUs = 250, kMostHoldUs = 4000;
/// The part of a gate by which all has to be enqueued: how long it lasts varies.
constexpr double kEnqueuedBy = 0.8;

}  // namespace

GatedLaunches::GatedLaunches(std::function<int64_t()> now_ns)
    : now_ns_(std::move(now_ns)), hold_us_(0) {}

Result<std::optional<LaunchTimes>> GatedLaunches::Time(HoldingStream& stream,
                                                       const std::function<Status()>& launch) {
  if (hold_us_ == 0) {
    // A stream makes its gate when it is first asked to hold.
    RETURN_IF_ERROR(RunPass(stream, launch, 0).status());
    hold_us_ = kFirstHoldUs;
  }
  while (true) {
    ASSIGN_OR_RETURN(const Pass gate, RunPass(stream, launch, 0));
    ASSIGN_OR_RETURN(const Pass all, RunPass(stream, launch, kLaunches));
    if (all.enqueued_us <= kEnqueuedBy * gate.whole_us) {
      const double device_us = (all.whole_us - gate.whole_us) / kLaunches;
      const double host_us = (all.enqueued_us - gate.enqueued_us) / kLaunches;
      return std::optional(LaunchTimes{std::max(device_us, 1e-3), std::max(host_us, 0.0)});
    }
    if (hold_us_ >= kMostHoldUs) return std::optional<LaunchTimes>();
    hold_us_ = std::min(2 * hold_us_, kMostHoldUs);
  }
}

Result<GatedLaunches::Pass> GatedLaunches::RunPass(HoldingStream& stream,
                                                   const std::function<Status()>& launch,
                                                   int launches) const {
  const int64_t begin = now_ns_();
  const auto us = [&] { return static_cast<double>(now_ns_() - begin) * 1e-3; };
  RETURN_IF_ERROR(stream.Hold(hold_us_));
  for (int i = 0; i < launches; ++i) RETURN_IF_ERROR(launch());
  Pass pass{.enqueued_us = us()};
  RETURN_IF_ERROR(stream.Synchronise());
  pass.whole_us = us();
  return pass;
}

}  // namespace fettle
