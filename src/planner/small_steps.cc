#include "planner/small_steps.h"

#include "kernels/work.h"
#include "kernels/worth_waking.h"

namespace fettle::planner {

int ThreadsWorthWaking(const Choice& choice, const std::shared_ptr<const ir::Graph>& group,
                       int threads) {
  if (threads == 1 || choice.kernel->device() != DeviceKind::kCpu) return threads;
  const kernels::Setting setting{choice.states_index, 1,
                                 choice.match->params(choice.states_index, 1).usual};
  const kernels::Problem problem{group, choice.states(), 1};
  return kernels::ThreadsWorthWaking(
      kernels::WorkOf(*choice.kernel, problem, choice.match.get(), setting), threads);
}

}  // namespace fettle::planner
