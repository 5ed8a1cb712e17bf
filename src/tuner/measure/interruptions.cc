#include "tuner/measure/interruptions.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "device/cpu/spin.h"

namespace fettle::tuner {

int64_t Interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

Muster::Muster(int64_t lanes, const CpuInfo& info)
    : lanes_(lanes), wait_ns_(lanes <= info.cores ? 6'000'000 : 50'000) {}

void Muster::Meet() {
  met_.fetch_add(1);
  const int64_t deadline = NowNs() + wait_ns_;
  while (met_.load() < lanes_ && NowNs() < deadline) Pause();
}

Result<UndisturbedTime> TimeUndisturbed(const std::function<Result<double>()>& sample,
                                        const Patience& patience) {
  const auto count = [&] { return patience.interruptions ? patience.interruptions() : 0; };
  const int64_t end_ns = patience.interruptions ? patience.now_ns() + patience.ns : 0;
  double least_us = std::numeric_limits<double>::infinity();
  do {
    if (patience.await) patience.await();
    const int64_t before = count();
    ASSIGN_OR_RETURN(const double us, sample());
    if (count() == before) return UndisturbedTime{us};
    least_us = std::min(least_us, us);
  } while (patience.now_ns() < end_ns);
  return UndisturbedTime{least_us, true};
}

}  // namespace fettle::tuner
