// What launches take of a device that is through with one before the host has enqueued the next.
#pragma once

#include <functional>
#include <optional>

#include "device/device.h"

namespace fettle {

/// A stream that can keep its device busy on purpose.
class HoldingStream : public Stream {
 public:
  /// Whether Hold may be asked for: not where the device is the host itself, so that the two take
  /// time from each other, nor where launches are split or counted (StreamOptions).
  virtual bool holds() const = 0;
  /// Keeps the device busy for about `us` microseconds with what is enqueued next: what follows it
  /// begins when the host has enqueued that, too. Needs holds().
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

  /// Of what `launch` enqueues on `stream`, which holds, and on which nothing is under way. Nothing
  /// where no gate lasts until all is enqueued, since launches wait.
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
