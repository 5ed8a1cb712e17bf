// Timing launches on an OpenCL device.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "device/opencl/opencl_stream.h"

namespace fettle::tools {

/// The device that --device opencl[:PLATFORM[:DEVICE]] names.
Result<std::shared_ptr<OpenClDevice>> OpenNamedDevice(std::string_view option);

struct LaunchTimes {
  double ms = 0;  // of one launch
  int runs = 0;
};

/// Milliseconds of one launch: `iters` launches are enqueued in up to five groups, and the median
/// group's wall time is shared out. Ends early, after one group at least, once `max_seconds`
/// passed.
Result<LaunchTimes> TimeLaunches(const std::function<Status()>& launch, OpenClStream& stream,
                                 int warmup, int iters, double max_seconds);

}  // namespace fettle::tools
