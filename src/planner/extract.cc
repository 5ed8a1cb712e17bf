#include "planner/extract.h"

#include <algorithm>
#include <set>

#include "kernels/backend.h"
#include "planner/assume.h"
#include "planner/same_bytes.h"
#include "planner/staying.h"

namespace fettle::planner {
namespace {

class Extractor {
 public:
  Extractor(const ir::Graph& graph, const Catalogue& catalogue, CostSource& costs, int threads,
            const Assumptions& assumptions, const Bounds& bounds, const Decision* preferred)
      : graph_(graph),
        catalogue_(catalogue),
        costs_(costs),
        threads_(threads),
        assumptions_(assumptions),
        bounds_(bounds),
        preferred_(preferred),
        tensor_of_(graph.values().size(), -1) {}

  Result<Extracted> Run() {
    result_.problem.nodes = static_cast<int>(graph_.nodes().size());
    for (ir::ValueId id : graph_.inputs) {
      const int tensor = TensorOf(id);
      const State external{.storage = graph_.value(id).dtype, .external = true};
      result_.problem.tensors[tensor].given = {StateOf(tensor, external)};
      written_[tensor].insert(0);
    }
    for (const Kind& kind : catalogue_.kinds) PriceKind(kind);
    if (preferred_ != nullptr) KeepPreferred();
    if (assumptions_.changes_repeat) AssumeOfChanges(catalogue_, prices_);
    for (const Instance& instance : catalogue_.instances) AddGroup(instance);
    if (assumptions_.fusion_gains) AssumeOfFusion(catalogue_, result_);
    for (ir::ValueId id : graph_.outputs) {
      const ir::Value& value = graph_.value(id);
      if (value.is_constant()) continue;
      const int tensor = TensorOf(id);
      const int state = StateOf(tensor, {.storage = value.dtype});
      read_[tensor].insert(state);
      result_.problem.tensors[tensor].wanted = {state};
    }
    for (size_t tensor = 0; tensor < result_.values.size(); ++tensor) {
      // Nothing is left that touches it; the solver wants a state all the same.
      if (result_.states[tensor].empty())
        StateOf(static_cast<int>(tensor), {.storage = graph_.value(result_.values[tensor]).dtype});
      AddConversions(tensor);
    }
    RETURN_IF_ERROR(CheckCover());
    result_.problem.memory_limit = bounds_.memory_limit;
    if (bounds_.error_budget >= 0 && MostError() > bounds_.error_budget)
      result_.problem.error_budget = bounds_.error_budget;
    return std::move(result_);
  }

 private:
  int TensorOf(ir::ValueId id) {
    int& tensor = tensor_of_[id];
    if (tensor >= 0) return tensor;
    tensor = static_cast<int>(result_.values.size());
    result_.values.push_back(id);
    result_.states.emplace_back();
    result_.problem.tensors.push_back({.name = graph_.value(id).name});
    read_.emplace_back();
    written_.emplace_back();
    return tensor;
  }

  int StateOf(int tensor, const State& state) {
    std::vector<State>& states = result_.states[tensor];
    const Shape& shape = *graph_.value(result_.values[tensor]).shape;
    for (size_t i = 0; i < states.size(); ++i)
      if (states[i] == state || SameBytes(shape, states[i], state)) return static_cast<int>(i);
    states.push_back(state);
    solver::Tensor& named = result_.problem.tensors[tensor];
    named.states.push_back(StateName(state, shape.rank()));
    named.bytes.push_back(StateBytes(shape, state));
    return static_cast<int>(states.size()) - 1;
  }

  void PriceKind(const Kind& kind) {
    std::vector<EntryCost> prices;
    for (const Entry& entry : kind.entries) {
      prices.push_back(entry.is_view ? EntryCost{.measured = true} : costs_.Kernel(kind, entry));
    }
    prices_.push_back(std::move(prices));
  }

  void KeepPreferred() {
    for (Staying& one : ListStaying(graph_, catalogue_, prices_, *preferred_, threads_)) {
      EntryCost& price = prices_[one.kind][one.entry];
      price = {.us = price.us};
      result_.warnings.push_back(std::move(one.warning));
    }
  }

  static std::string Label(const Entry& entry, const Proposal* proposal) {
    std::string label = fmt::format("{}/t{}", entry.kernel->name, entry.threads);
    if (proposal != nullptr && !proposal->is_default)
      for (const auto& [name, value] : proposal->params)
        label += fmt::format("/{}={}", name, value);
    return label;
  }

  /// Whether `entry` reads a value of the caller's where the network computes one.
  bool WantsCallers(const Instance& instance, const Entry& entry) const {
    for (size_t i = 0; i < instance.inputs.size(); ++i) {
      const std::vector<ir::ValueId>& given = graph_.inputs;
      if (entry.states.inputs[i].external &&
          std::find(given.begin(), given.end(), instance.inputs[i]) == given.end())
        return true;
    }
    return false;
  }

  void AddGroup(const Instance& instance) {
    const Kind& kind = catalogue_.kinds[instance.kind];
    const std::vector<EntryCost>& prices = prices_[instance.kind];
    solver::Group group;
    for (ir::NodeId node : instance.nodes) {
      group.nodes.push_back(node);
      group.name += (group.name.empty() ? "" : "+") + graph_.node(node).name;
    }
    for (ir::ValueId id : instance.inputs) group.inputs.push_back(TensorOf(id));
    for (ir::ValueId id : instance.outputs) group.outputs.push_back(TensorOf(id));
    std::vector<int> entries;
    std::vector<bool> measured;
    std::vector<std::shared_ptr<const Proposal>> proposals;
    for (size_t e = 0; e < kind.entries.size(); ++e) {
      const Entry& entry = kind.entries[e];
      if (!prices[e].banned.empty() || WantsCallers(instance, entry)) continue;
      solver::Choice choice{.name = Label(entry, prices[e].proposal.get()),
                            .cost = prices[e].us,
                            .error = prices[e].error,
                            .workspace = prices[e].workspace};
      for (size_t i = 0; i < group.inputs.size(); ++i) {
        choice.inputs.push_back(StateOf(group.inputs[i], entry.states.inputs[i]));
        read_[group.inputs[i]].insert(choice.inputs.back());
      }
      for (size_t i = 0; i < group.outputs.size(); ++i) {
        choice.outputs.push_back(StateOf(group.outputs[i], entry.states.outputs[i]));
        written_[group.outputs[i]].insert(choice.outputs.back());
      }
      group.choices.push_back(std::move(choice));
      entries.push_back(static_cast<int>(e));
      measured.push_back(prices[e].measured);
      proposals.push_back(prices[e].proposal);
    }
    result_.problem.groups.push_back(std::move(group));
    result_.entries.push_back(std::move(entries));
    result_.measured.push_back(std::move(measured));
    result_.proposals.push_back(std::move(proposals));
  }

  /// Devices that cannot hand over directly (two beside the CPU never can) do it through the
  /// host's row-major form.
  void AddHostBetween(size_t tensor) {
    const ir::Value& value = graph_.value(result_.values[tensor]);
    const auto state = [&](int index) -> const State& { return result_.states[tensor][index]; };
    const auto is_cut_off = [&](int from) {
      return std::any_of(read_[tensor].begin(), read_[tensor].end(), [&](int to) {
        return state(from).device != state(to).device &&
               !kernels::CheckConversion(*value.shape, state(from), state(to)).ok();
      });
    };
    if (std::none_of(written_[tensor].begin(), written_[tensor].end(), is_cut_off)) return;
    const int host = StateOf(static_cast<int>(tensor), {.storage = value.dtype});
    written_[tensor].insert(host);
    read_[tensor].insert(host);
  }

  void AddConversions(size_t tensor) {
    AddHostBetween(tensor);
    const ir::Value& value = graph_.value(result_.values[tensor]);
    const std::vector<State>& states = result_.states[tensor];
    for (int from : written_[tensor]) {
      for (int to : read_[tensor]) {
        if (from == to || !kernels::CheckConversion(*value.shape, states[from], states[to]).ok())
          continue;
        const EntryCost cost =
            costs_.Conversion(*value.shape, value.dtype, states[from], states[to], threads_);
        if (!cost.banned.empty()) continue;
        result_.problem.tensors[tensor].conversions.push_back({from, to, cost.us, cost.error});
      }
    }
  }

  /// No solution has more.
  double MostError() const {
    double most = 0;
    for (const solver::Group& group : result_.problem.groups) {
      double worst = 0;
      for (const solver::Choice& choice : group.choices) worst = std::max(worst, choice.error);
      most += worst;
    }
    for (const solver::Tensor& tensor : result_.problem.tensors)
      for (const solver::Conversion& conversion : tensor.conversions) most += conversion.error;
    return most;
  }

  Status CheckCover() const {
    std::vector<bool> covered(graph_.nodes().size());
    for (const solver::Group& group : result_.problem.groups) {
      if (group.choices.empty()) continue;
      for (int node : group.nodes) covered[node] = true;
    }
    for (size_t n = 0; n < covered.size(); ++n) {
      if (!covered[n])
        return Unsupported("{}: every kernel failed its checks", ir::Describe(graph_.nodes()[n]));
    }
    return OkStatus();
  }

  const ir::Graph& graph_;
  const Catalogue& catalogue_;
  CostSource& costs_;
  int threads_;
  const Assumptions& assumptions_;
  const Bounds& bounds_;
  const Decision* preferred_;  // null: nothing stays
  Extracted result_;
  std::vector<int> tensor_of_;                 // by value
  std::vector<std::set<int>> read_, written_;  // by tensor: states
  Prices prices_;
};

/// Picks in an order in which they can run.
std::vector<solver::Pick> Ordered(const Catalogue& catalogue, const ir::Graph& graph,
                                  std::vector<solver::Pick> picks) {
  std::vector<bool> exists(graph.values().size());
  for (ir::ValueId id : graph.inputs) exists[id] = true;
  std::vector<solver::Pick> ordered;
  while (!picks.empty()) {
    const auto next = std::find_if(picks.begin(), picks.end(), [&](const solver::Pick& pick) {
      const Instance& instance = catalogue.instances[pick.group];
      return std::all_of(instance.inputs.begin(), instance.inputs.end(),
                         [&](ir::ValueId id) { return exists[id]; });
    });
    FETTLE_CHECK(next != picks.end(), "the groups of a solution depend on each other");
    for (ir::ValueId id : catalogue.instances[next->group].outputs) exists[id] = true;
    ordered.push_back(*next);
    picks.erase(next);
  }
  return ordered;
}

}  // namespace

Result<Extracted> Extract(const ir::Graph& graph, const Catalogue& catalogue, CostSource& costs,
                          int threads, const Assumptions& assumptions, const Bounds& bounds,
                          const Decision* preferred) {
  return Extractor(graph, catalogue, costs, threads, assumptions, bounds, preferred).Run();
}

Decision ToDecision(const ir::Graph& graph, const Catalogue& catalogue, const Extracted& extracted,
                    const solver::Solution& solution, int threads) {
  Decision decision{.predicted_us = solution.cost, .gap = solution.gap()};
  for (const solver::Pick& pick : Ordered(catalogue, graph, solution.picks)) {
    const size_t g = pick.group;
    const size_t c = pick.choice;
    const Instance& instance = catalogue.instances[g];
    const Kind& kind = catalogue.kinds[instance.kind];
    const Entry& entry = kind.entries[extracted.entries[g][c]];
    const Proposal* const proposal = extracted.proposals[g][c].get();
    decision.groups.push_back({.nodes = instance.nodes,
                               .kernel = std::string(entry.kernel->name),
                               .version = entry.kernel->version,
                               .params = proposal == nullptr ? entry.params : proposal->params,
                               .states = entry.states,
                               .threads = entry.threads == threads ? 0 : entry.threads,
                               .us = extracted.problem.groups[g].choices[c].cost});
  }
  for (const solver::Made& made : solution.conversions) {
    const size_t t = made.tensor;
    const solver::Conversion& conversion =
        extracted.problem.tensors[t].conversions[made.conversion];
    decision.conversions.push_back({extracted.values[t], extracted.states[t][conversion.from],
                                    extracted.states[t][conversion.to], conversion.cost});
  }
  return decision;
}

}  // namespace fettle::planner
