#include "jobs/opencl_timing.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "report/statistics.h"

namespace fettle::tools {

Result<std::shared_ptr<OpenClDevice>> OpenNamedDevice(std::string_view option) {
  const auto colon = option.find(':');
  return OpenClDevice::Open(colon == std::string_view::npos ? std::string_view()
                                                            : option.substr(colon + 1));
}

Result<LaunchTimes> TimeLaunches(const std::function<Status()>& launch, OpenClStream& stream,
                                 int warmup, int iters, double max_seconds) {
  constexpr int kGroups = 5;
  const auto seconds_since = [](int64_t start) {
    return static_cast<double>(NowNs() - start) * 1e-9;
  };
  const int64_t start = NowNs();
  for (int i = 0; i < warmup && (i == 0 || seconds_since(start) < max_seconds / 2); ++i) {
    RETURN_IF_ERROR(launch());
    RETURN_IF_ERROR(stream.Synchronise());
  }
  const double warm = seconds_since(start);
  // Slow kernels are launched one by one, so that the limit holds.
  const int groups = warm >= max_seconds / 2 ? iters : std::min(kGroups, iters);
  std::vector<double> times;
  LaunchTimes result;
  for (int group = 0; group < groups && (group == 0 || seconds_since(start) < max_seconds);
       ++group) {
    const int launches = iters * (group + 1) / groups - iters * group / groups;
    const int64_t group_start = NowNs();
    for (int i = 0; i < launches; ++i) RETURN_IF_ERROR(launch());
    RETURN_IF_ERROR(stream.Synchronise());
    times.push_back(seconds_since(group_start) * 1e3 / launches);
    result.runs += launches;
  }
  result.ms = Summarise(times).median;
  return result;
}

}  // namespace fettle::tools
