#include "planner/explain.h"

#include "kernels/params_text.h"
#include "kernels/work.h"

namespace fettle::planner {
namespace {

std::string EntryText(const Entry& entry, const Proposal* proposal, const Kind& kind) {
  const ir::Graph& group = *kind.group;
  std::string text = fmt::format("{}", entry.kernel->name);
  if (proposal != nullptr && !proposal->is_default)
    text += " " + kernels::PrintParams(proposal->params);
  if (!entry.states.inputs.empty())
    text +=
        " " + LayoutName(entry.states.inputs[0].layout, group.value(group.inputs[0]).shape->rank());
  return text + fmt::format(" t{}", entry.threads);
}

kernels::Work WorkOf(const Kind& kind, const Entry& entry, const kernels::Params& params) {
  if (entry.is_view) return {};
  return kernels::WorkOf(*entry.kernel, kind.problem(entry), entry.match.get(),
                         {entry.states_index, entry.threads, params});
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

namespace {

void AddProposal(const Proposal* proposal, Explained& one) {
  if (proposal == nullptr) return;
  one.params = proposal->params;
  one.proposed_by = proposal->by;
  one.evaluations = proposal->evaluations;
}

/// The best of the entries beside `chosen`, and those that are banned.
void AddOthers(const Kind& kind, size_t chosen, CostSource& costs, Explained& one) {
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
}

}  // namespace

Explained ExplainEntry(const ir::Graph& graph, const Instance& instance, const Kind& kind,
                       size_t chosen, CostSource& costs) {
  const Entry& entry = kind.entries[chosen];
  Explained one{.node = NamesOf(graph, instance.nodes),
                .op = OpsOf(*kind.group),
                .kernel = std::string(entry.kernel->name),
                .params = entry.params,
                .threads = entry.threads,
                .state_in = FirstState(*kind.group, kind.group->inputs, entry.states.inputs),
                .state_out = FirstState(*kind.group, kind.group->outputs, entry.states.outputs),
                .choices = static_cast<int>(kind.entries.size()),
                .rejected = kind.rejected};
  if (entry.is_view) {
    one.measured = true;
  } else {
    const EntryCost cost = costs.Kernel(kind, entry);
    one.us = cost.us;
    one.alone_us = cost.alone_us;
    one.measured = cost.measured;
    one.predicted = cost.predicted;
    AddProposal(cost.proposal.get(), one);
  }
  one.work = WorkOf(kind, entry, one.params);
  AddOthers(kind, chosen, costs, one);
  return one;
}

std::vector<Explained> Explain(const ir::Graph& graph, const Catalogue& catalogue,
                               const Extracted& extracted, const solver::Solution& solution,
                               CostSource& costs) {
  std::vector<Explained> all;
  for (const solver::Pick& pick : solution.picks) {
    const size_t g = pick.group;
    const size_t picked = pick.choice;
    const Instance& instance = catalogue.instances[g];
    const Kind& kind = catalogue.kinds[instance.kind];
    const size_t chosen = extracted.entries[g][picked];
    Explained one = ExplainEntry(graph, instance, kind, chosen, costs);
    one.us = extracted.problem.groups[g].choices[picked].cost;
    one.measured = extracted.measured[g][picked];
    AddProposal(extracted.proposals[g][picked].get(), one);
    one.work = WorkOf(kind, kind.entries[chosen], one.params);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace fettle::planner
