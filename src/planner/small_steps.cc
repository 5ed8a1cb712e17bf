#include "planner/small_steps.h"

#include <algorithm>

#include "kernels/work.h"

namespace fettle::planner {
namespace {

/// What a core reaches in small steps, per microsecond.
constexpr double kOperations = 50e3, kBytes = 10e3;
/// What waking other threads and waiting for them takes, and a little for what they gain.
constexpr double kWorthSharingUs = 4;

}  // namespace

bool IsTooSmallToShare(const Choice& choice, const std::shared_ptr<const ir::Graph>& group) {
  if (choice.kernel->device() != DeviceKind::kCpu) return false;
  const kernels::Setting setting{choice.states_index, 1,
                                 choice.match->params(choice.states_index, 1).usual};
  const kernels::Problem problem{group, choice.states(), 1};
  const kernels::Work work = kernels::WorkOf(*choice.kernel, problem, choice.match.get(), setting);
  return std::max(work.operations / kOperations, work.bytes / kBytes) < kWorthSharingUs;
}

}  // namespace fettle::planner
