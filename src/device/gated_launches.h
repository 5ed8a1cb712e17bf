// The time of launches on a device that finishes a launch before the host has enqueued the next.
#pragma once

#include <functional>
#include <optional>

#include "device/device.h"

namespace fettle {

/// A stream that can keep its device busy on purpose.
class HoldingStream : public Stream {
 public:
  /// Whether Hold may be called. False where the device is the host itself, so that the two take
  /// time from each other, and where launches are split or counted (StreamOptions).
  virtual bool holds() const = 0;
  /// Keeps the device busy for about `us` microseconds, so that it begins with the launches
  /// enqueued next only when the host has enqueued them all. Needs holds().
  virtual Status Hold(double us) = 0;

 protected:
  using Stream::Stream;
};

/// Of one of several launches, in microseconds: what the device takes, its own start included, and
/// what the host takes to enqueue it.
struct LaunchTimes {
  double device_us = 0;
  double host_us = 0;
};

/// Times launches behind a gate (HoldingStream): the device is kept busy until all of them are
/// enqueued, and what the gate takes alone is subtracted. Not synchronised.
class GatedLaunches {
 public:
  /// Behind one gate: so many that the gate's own noise, a microsecond, is little in each.
  static constexpr int kLaunches = 16;

  /// `now_ns`: nanoseconds.
  explicit GatedLaunches(std::function<int64_t()> now_ns);

  /// The times of the launch that `launch` enqueues on `stream`, which holds and is idle. Nothing
  /// where no gate lasts until all launches are enqueued, because `launch` waits.
  Result<std::optional<LaunchTimes>> Time(HoldingStream& stream,
                                          const std::function<Status()>& launch);

 private:
  struct Pass {
    double enqueued_us = 0, whole_us = 0;  // since the gate was asked for
  };
  /// Of so many launches behind the gate.
  Result<Pass> RunPass(HoldingStream& stream, const std::function<Status()>& launch,
                       int launches) const;

  std::function<int64_t()> now_ns_;
  double hold_us_;
};

}  // namespace fettle
