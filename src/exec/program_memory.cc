// What a program needs of memory beside its plan.
#include <algorithm>

#include "base/memory_budget.h"
#include "exec/program.h"

namespace fettle::exec {

/// The sum is known before any of it is taken, so nothing is written for what cannot be run.
Status Program::CheckMemory(PackedStore& packed, MemoryBeside memory,
                            const Requests& requests) const {
  const int64_t work = std::max(memory_.devices[0].bytes - memory.work_held, int64_t{0});
  const int64_t beside = work + memory.outputs;
  int64_t most = beside;
  for (const auto& of_step : requests)
    for (const kernels::PackRequest& request : of_step) most += request.bytes;
  RETURN_IF_ERROR(MemoryBudget::Current()->Check(beside));
  const MemoryBudget& budget = *MemoryBudget::OutsideLoops();
  if (budget.Check(most).ok()) return OkStatus();
  // Which of them are equal or there already only their contents tell, which takes reading them.
  std::vector<PackedStore::Wanted> wanted;
  for (size_t i = 0; i < requests.size(); ++i)
    for (const kernels::PackRequest& request : requests[i])
      wanted.emplace_back(request, plan_->steps[i].problem.group.get());
  return budget.Check(packed.BytesToPack(wanted) + beside);
}

}  // namespace fettle::exec
