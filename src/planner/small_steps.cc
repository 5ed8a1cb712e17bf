#include "planner/small_steps.h"

#include <algorithm>

#include "kernels/work.h"

namespace fettle::planner {
namespace {

/// What a core reaches in small steps, whose operands lie in its caches, per microsecond.
constexpr double kOperations = 50e3, kBytes = 30e3;
/// What sharing a step takes, and each thread that takes part: the pool's call, and that what the
/// step before wrote comes from other cores. Chosen of eight pairs (docs/performance.md,
/// "Sixteen cores").
constexpr double kShareUs = 4, kThreadUs = 0.1;
/// Of the time alone, what sharing has to leave to be worth it.
constexpr double kWorth = 0.9;

double MicrosecondsAlone(const Choice& choice, const std::shared_ptr<const ir::Graph>& group) {
  const kernels::Setting setting{choice.states_index, 1,
                                 choice.match->params(choice.states_index, 1).usual};
  const kernels::Problem problem{group, choice.states(), 1};
  const kernels::Work work = kernels::WorkOf(*choice.kernel, problem, choice.match.get(), setting);
  return std::max(work.operations / kOperations, work.bytes / kBytes);
}

}  // namespace

int ThreadsWorthWaking(const Choice& choice, const std::shared_ptr<const ir::Graph>& group,
                       int threads) {
  if (threads == 1 || choice.kernel->device() != DeviceKind::kCpu) return threads;
  const double alone_us = MicrosecondsAlone(choice, group);
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

}  // namespace fettle::planner
