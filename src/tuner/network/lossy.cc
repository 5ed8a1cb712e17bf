#include "tuner/network/lossy.h"

#include <algorithm>

namespace fettle::tuner {

std::pair<int, int> EntryIdOf(const planner::Catalogue& catalogue,
                              const planner::Extracted& extracted, const solver::Pick& pick) {
  const size_t g = pick.group;
  return {catalogue.instances[g].kind, extracted.entries[g][pick.choice]};
}

Copy CopyOf(const ir::Graph& graph, const planner::Extracted& extracted, const solver::Made& made) {
  const size_t t = made.tensor;
  const solver::Conversion& conversion = extracted.problem.tensors[t].conversions[made.conversion];
  const std::vector<State>& states = extracted.states[t];
  return {graph.value(extracted.values[t]), states[conversion.from], states[conversion.to],
          conversion.error};
}

std::vector<Lossy> ListLossy(const SolvedPlan& plan, int threads, SlotCosts& costs) {
  std::vector<Lossy> lossy;
  const planner::Extracted& extracted = plan.extracted;
  for (const solver::Pick& pick : plan.solution.picks) {
    const std::vector<solver::Choice>& choices = extracted.problem.groups[pick.group].choices;
    const solver::Choice& choice = choices[pick.choice];
    if (choice.error <= 0) continue;
    double exact = kNoLimit;
    for (const solver::Choice& other : choices)
      if (other.error <= 0) exact = std::min(exact, other.cost);
    const auto [kind_id, entry_id] = EntryIdOf(plan.catalogue, extracted, pick);
    const planner::Kind& kind = plan.catalogue.kinds[kind_id];
    const planner::Entry& entry = kind.entries[entry_id];
    const planner::Proposal* proposal = extracted.proposals[pick.group][pick.choice].get();
    lossy.push_back({costs.KeyText(kind, entry, proposal),
                     std::string(entry.kernel->name),
                     {choice.error, exact - choice.cost}});
  }
  for (const solver::Made& made : plan.solution.conversions) {
    const Copy copy = CopyOf(plan.graph, extracted, made);
    if (copy.error <= 0) continue;
    lossy.push_back({costs.learned().KeyText(*copy.value.shape, copy.from, copy.to, threads),
                     "conversion",
                     {copy.error, 0}});
  }
  return lossy;
}

}  // namespace fettle::tuner
