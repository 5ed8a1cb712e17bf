// What is enqueued on an OpenCL device, timed without the host.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {

/// Keeps the device of `stream` busy (OpenClStream::Hold) for `us` microseconds, so that launches
/// behind it are not hidden by what the host takes to enqueue them. Belongs to one thread; ends the
/// program where the device fails.
class Gate {
 public:
  explicit Gate(OpenClStream& stream, double us = 2000) : stream_(stream), us_(us) {}

  /// What `enqueue` and a gate before it take.
  template <typename Enqueue>
  double Ns(const Enqueue& enqueue) const {
    if (!stream_.Synchronise().ok()) std::abort();
    const int64_t begin = NowNs();
    if (!stream_.Hold(us_).ok()) std::abort();
    enqueue();
    if (!stream_.Synchronise().ok()) std::abort();
    return static_cast<double>(NowNs() - begin);
  }
  /// What `enqueue` takes of the device.
  template <typename Enqueue>
  double MicrosecondsBehind(const Enqueue& enqueue) const {
    const double alone = Ns([] {});
    return (Ns(enqueue) - alone) * 1e-3;
  }
  /// Of one of `launches` calls of `launch`, by the least of `rounds` with it and without, in
  /// microseconds.
  template <typename Launch>
  double LeastMicroseconds(int launches, int rounds, const Launch& launch) const {
    Ns([] {});  // the first one is calibrated
    double least = 1e30, alone = 1e30;
    for (int i = 0; i < rounds; ++i) {
      alone = std::min(alone, Ns([] {}));
      const auto all = Ns([&] {
        for (int j = 0; j < launches; ++j) launch();
      });
      least = std::min(least, all);
    }
    return (least - alone) * 1e-3 / launches;
  }

 private:
  OpenClStream& stream_;
  double us_;
};

}  // namespace fettle
