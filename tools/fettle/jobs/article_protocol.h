// How articles report a matrix product on a GPU: the mean of runs one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "device/device.h"
#include "tuner/store/candidate.h"

namespace fettle::tools {

inline constexpr int kArticleWarmUps = 10, kArticleRuns = 20;

/// The mean of kArticleRuns runs after kArticleWarmUps: no sample is left out, no cache is emptied.
struct ArticleTime {
  double ms = 0;
  /// By profiling events of the device; otherwise by the host's clock.
  bool by_events = false;

  /// `operations` (2MNK) in GFLOP/s of 1024^3.
  double GflopsOf1024Cubed(double operations) const;
};

/// Of runs that end before they return. `take_event_ns` tells how long a device says that it worked
/// since the last call, below 0 where it does not say (Stream::TakeBusyNs). Fails as a run does,
/// and with kCancelled where the user interrupts.
Result<ArticleTime> TimeAsArticle(const std::function<Status()>& run,
                                  const std::function<int64_t()>& take_event_ns);

/// Of launches of a kernel, on noise. The candidate is one that was verified.
Result<ArticleTime> TimeAsArticle(const tuner::Candidate& candidate, const DeviceSet& devices,
                                  uint64_t seed);

}  // namespace fettle::tools
