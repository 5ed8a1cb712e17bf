#include "kernels/worth_waking.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// What a core reaches in small steps, whose operands lie in its caches, per microsecond.
constexpr double kOperations = 50e3, kBytes = 30e3;
/// What sharing a step takes, and each thread that takes part: the pool's call, and that what the
/// step before wrote comes from other cores. Chosen of eight pairs
/// (docs/laboratory/performance.md, "Sixteen cores").
constexpr double kShareUs = 4, kThreadUs = 0.1;
/// Of the time alone, what sharing has to leave to be worth it.
constexpr double kWorth = 0.9;

}  // namespace

int ThreadsWorthWaking(const Work& alone, int threads) {
  const double alone_us = std::max(alone.operations / kOperations, alone.bytes / kBytes);
  int best = 1;
  double best_us = kWorth * alone_us;
  for (int count = 2; count <= threads; ++count) {
    const double us = alone_us / count + kShareUs + kThreadUs * count;
    if (us >= best_us) continue;
    best = count;
    best_us = us;
  }
  return best;
}

}  // namespace fettle::kernels
