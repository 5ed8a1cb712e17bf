#include "tuner/cost/roofline.h"

#include <algorithm>

#include "kernels/work.h"

namespace fettle::tuner {
namespace {

constexpr double kSlack = 1.1;
constexpr double kLeastLaunchUs = 0.05;
/// Elements per second that a scalar loop reaches at best: one result per cycle at 5 GHz.
constexpr double kScalarRate = 5e9;
/// Where nothing is known.
constexpr double kAnyRate = 1e12;

struct Rate {
  double value = 0;  // of all threads together
  std::string by;
};

/// Of `threads` threads; 0 where nothing of the name was measured.
Rate RateOf(const Ceilings& ceilings, std::string_view name, int threads) {
  if (threads > 1) {
    std::string together = fmt::format("{}, {} cores", name, threads);
    const auto measured = ceilings.find(together);
    if (measured != ceilings.end()) return {measured->second, std::move(together)};
  }
  const auto one = ceilings.find(name);
  return {one == ceilings.end() ? 0 : one->second * threads, std::string(name)};
}

Rate Faster(Rate a, Rate b) { return a.value >= b.value ? std::move(a) : std::move(b); }

Rate ArithmeticRate(const kernels::Work& work, int threads, const Ceilings& ceilings) {
  if (work.ceiling == "scalar") return {kScalarRate * threads, "scalar"};
  Rate rate = RateOf(ceilings, work.ceiling, threads);
  if (rate.value <= 0) {
    rate = RateOf(ceilings, "fp32 fma", threads);
    rate.value *= UnmeasuredFactor(work.ceiling);
  }
  return rate.value > 0 ? rate : Rate{kAnyRate * threads, ""};
}

/// Bytes of a level per second, read and written ones counted alike: a core that copies may move
/// more than one that reads, or less, and one that works in place fetches no lines to write to.
Rate LevelRate(std::string_view level, int threads, const Ceilings& ceilings) {
  Rate rate;
  for (const std::string_view way : {"read", "copy", "update"})
    rate = Faster(std::move(rate), RateOf(ceilings, fmt::format("{} {}", level, way), threads));
  return rate;
}

struct Traffic {
  double seconds = 0, cold_seconds = 0;
  std::string by;  // the farthest level
};

/// As many bytes as each level holds come from there, the nearest first. What is computed in place
/// moves each byte twice that a level holds. Caches of a core count once for each thread.
Traffic TrafficOf(double bytes, int threads, const Ceilings& ceilings, const CpuInfo& info) {
  constexpr int kMoves = 2, kLevels = 3;
  const struct {
    std::string_view name;
    int64_t size;
    int copies;
  } levels[kLevels] = {
      {"L1", info.l1d_bytes, threads}, {"L2", info.l2_bytes, threads}, {"L3", info.l3_bytes, 1}};
  Rate memory = LevelRate("DRAM", threads, ceilings);
  if (memory.value <= 0) memory = {kAnyRate * threads, ""};
  Traffic traffic{.cold_seconds = bytes / memory.value};
  // A level cannot be slower than the memory behind it.
  Rate rates[kLevels + 1];
  rates[kLevels] = memory;
  for (size_t i = kLevels; i-- > 0;)
    rates[i] = Faster(LevelRate(levels[i].name, threads, ceilings), rates[i + 1]);
  double left = bytes;
  for (size_t i = 0; i <= kLevels && left > 0; ++i) {
    const double held =
        i == kLevels
            ? left
            : std::min(left, static_cast<double>(kMoves * levels[i].size * levels[i].copies));
    if (held <= 0) continue;
    traffic.seconds += held / rates[i].value;
    traffic.by = rates[i].by;
    left -= held;
  }
  return traffic;
}

}  // namespace

Limit LimitOf(const kernels::Work& work, int threads, const Ceilings& ceilings,
              const CpuInfo& info) {
  const Rate rate = ArithmeticRate(work, threads, ceilings);
  const double arithmetic = work.operations / rate.value;
  const Traffic traffic = TrafficOf(work.bytes, threads, ceilings, info);
  Limit limit{.us = std::max(arithmetic, traffic.seconds) * 1e6,
              .by = arithmetic > traffic.seconds ? rate.by : traffic.by,
              .cold_us = std::max(arithmetic, traffic.cold_seconds) * 1e6};
  limit.cold_us = std::max(limit.us, limit.cold_us);
  return limit;
}

double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info) {
  return std::max(LimitOf(work, threads, ceilings, info).us / kSlack, kLeastLaunchUs);
}

kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry) {
  return kernels::WorkOf(*entry.kernel, kind.problem(entry), entry.match.get(),
                         {entry.states_index, entry.threads, entry.params});
}

}  // namespace fettle::tuner
