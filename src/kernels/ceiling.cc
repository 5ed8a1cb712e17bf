#include "kernels/ceiling.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace fettle::kernels {

bool IsTime(std::string_view unit) { return unit == "us" || unit == "cycles"; }

Ceiling FromRepeats(const CeilingName& name, std::vector<double> repeats) {
  FETTLE_CHECK(!repeats.empty(), "a ceiling has repeats");
  std::sort(repeats.begin(), repeats.end());
  const size_t half = repeats.size() / 2;
  Ceiling ceiling{name};
  ceiling.value = repeats.size() % 2 == 1 ? repeats[half] : (repeats[half - 1] + repeats[half]) / 2;
  ceiling.best = IsTime(name.unit) ? repeats.front() : repeats.back();
  ceiling.spread = repeats.back() > 0 ? 1 - repeats.front() / repeats.back() : 0;
  ceiling.repeats = static_cast<int>(repeats.size());
  return ceiling;
}

Ceiling NotMeasured(const CeilingName& name, Status why) {
  Ceiling ceiling{name};
  ceiling.status = std::move(why);
  return ceiling;
}

std::string BinarySize(int64_t bytes) {
  if (bytes >= int64_t{1} << 30) return fmt::format("{} GiB", bytes >> 30);
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

}  // namespace fettle::kernels
