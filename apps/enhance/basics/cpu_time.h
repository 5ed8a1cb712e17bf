// The processor's time of the calling thread, which other programs' load does not lengthen.
#pragma once

#include <ctime>

namespace fettle::enhance {

inline double ThreadCpuMs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

}  // namespace fettle::enhance
