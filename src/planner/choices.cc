#include "planner/choices.h"

#include <algorithm>

namespace fettle::planner {

GroupChoices ListChoices(const ir::Graph& graph, const passes::Group& group, const Device& device,
                         const Limits& limits) {
  GroupChoices result;
  result.nodes = group.nodes;
  result.fragment = passes::ExtractGroup(graph, group);
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    if (limits.reference_only && kernel->preference > 0) continue;
    auto candidates = kernel->candidates(*result.fragment.graph, device);
    if (!candidates.ok()) {
      result.rejected.push_back({kernel->name, candidates.status().message()});
      continue;
    }
    for (kernels::StateAssignment& states : *candidates) {
      result.choices.push_back({kernel, std::move(states)});
    }
  }
  std::stable_sort(
      result.choices.begin(), result.choices.end(),
      [](const Choice& a, const Choice& b) { return a.kernel->preference > b.kernel->preference; });
  return result;
}

}  // namespace fettle::planner
