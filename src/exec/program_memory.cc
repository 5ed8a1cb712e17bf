// What a program needs of memory beside its plan.
#include <algorithm>

#include "base/memory_budget.h"
#include "exec/program.h"

namespace fettle::exec {

/// The sum is known before any of it is taken, so nothing is written for what cannot be run.
Status Program::CheckMemory(PackedStore& packed, MemoryBeside memory) const {
  const int64_t work = std::max(memory_.devices[0].bytes - memory.work_held, int64_t{0});
  const int64_t beside = work + memory.outputs;
  std::vector<PackedStore::Wanted> wanted;
  int64_t most = beside;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kernel == nullptr || plan_.steps[i].problem.group == nullptr) continue;
    for (kernels::PackRequest& request : steps_[i].kernel->packs()) {
      most += request.bytes;
      wanted.emplace_back(std::move(request), plan_.steps[i].problem.group.get());
    }
  }
  // Which of them are equal or there already only their contents tell, which takes reading them.
  RETURN_IF_ERROR(MemoryBudget::Current()->Check(beside));
  const MemoryBudget& budget = *MemoryBudget::OutsideLoops();
  return budget.Check(most).ok() ? OkStatus() : budget.Check(packed.BytesToPack(wanted) + beside);
}

}  // namespace fettle::exec
