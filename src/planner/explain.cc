#include "planner/explain.h"

namespace fettle::planner {
namespace {

std::string EntryText(const Entry& entry, const Proposal* proposal, const Kind& kind) {
  const ir::Graph& group = *kind.group;
  std::string text = fmt::format("{}", entry.kernel->name);
  if (proposal != nullptr && !proposal->is_default) text += " " + ParamsText(proposal->params);
  if (!entry.states.inputs.empty())
    text +=
        " " + LayoutName(entry.states.inputs[0].layout, group.value(group.inputs[0]).shape->rank());
  return text + fmt::format(" t{}", entry.threads);
}

std::string FirstState(const ir::Graph& group, const std::vector<ir::ValueId>& ids,
                       const std::vector<State>& states) {
  return ids.empty() ? "" : StateName(states[0], group.value(ids[0]).shape->rank());
}

}  // namespace

std::string OpsOf(const ir::Graph& group) {
  std::string text;
  for (const ir::Node& node : group.nodes())
    text += fmt::format("{}{}", text.empty() ? "" : "+", node.op);
  return text;
}

std::string NamesOf(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  std::string text;
  for (ir::NodeId id : nodes) text += (text.empty() ? "" : "+") + graph.node(id).name;
  return text;
}

std::string ParamsText(const kernels::Params& params) {
  std::string text;
  for (const auto& [name, value] : params)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::vector<Explained> Explain(const ir::Graph& graph, const Catalogue& catalogue,
                               const Extracted& extracted, const solver::Solution& solution,
                               CostSource& costs) {
  std::vector<Explained> all;
  for (const solver::Pick& pick : solution.picks) {
    const size_t g = pick.group;
    const Instance& instance = catalogue.instances[g];
    const Kind& kind = catalogue.kinds[instance.kind];
    const size_t chosen = extracted.entries[g][pick.choice];
    const Entry& entry = kind.entries[chosen];
    const std::vector<solver::Choice>& choices = extracted.problem.groups[g].choices;
    const size_t picked = pick.choice;
    Explained one{.node = NamesOf(graph, instance.nodes),
                  .op = OpsOf(*kind.group),
                  .kernel = std::string(entry.kernel->name),
                  .params = entry.params,
                  .threads = entry.threads,
                  .state_in = FirstState(*kind.group, kind.group->inputs, entry.states.inputs),
                  .state_out = FirstState(*kind.group, kind.group->outputs, entry.states.outputs),
                  .us = choices[picked].cost,
                  .alone_us = entry.is_view ? 0 : costs.Kernel(kind, entry).alone_us,
                  .measured = extracted.measured[g][picked],
                  .choices = static_cast<int>(kind.entries.size()),
                  .rejected = kind.rejected};
    if (const Proposal* proposal = extracted.proposals[g][picked].get(); proposal != nullptr) {
      one.params = proposal->params;
      one.proposed_by = proposal->by;
      one.evaluations = proposal->evaluations;
    }
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      if (e == chosen || kind.entries[e].is_view) continue;
      const EntryCost other = costs.Kernel(kind, kind.entries[e]);
      if (!other.banned.empty()) {
        one.rejected.push_back({kind.entries[e].kernel->name, other.banned});
        continue;
      }
      // A time says more than a bound.
      const bool better = one.runner_up.empty() || other.measured > one.runner_up_measured ||
                          (other.measured == one.runner_up_measured && other.us < one.runner_up_us);
      if (!better) continue;
      one.runner_up = EntryText(kind.entries[e], other.proposal.get(), kind);
      one.runner_up_us = other.us;
      one.runner_up_measured = other.measured;
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace fettle::planner
