#include "planner/assume.h"

#include <algorithm>
#include <map>

namespace fettle::planner {
namespace {

/// Keeps an order among equal bounds.
constexpr double kJustBehind = 1.0001;

bool StartsWith(const std::vector<ir::NodeId>& nodes, const std::vector<ir::NodeId>& first) {
  return nodes.size() > first.size() && std::equal(first.begin(), first.end(), nodes.begin());
}

/// The same kernel in the same way, but for the operands that only the longer group has.
bool IsFusedForm(const Entry& fused, const Entry& entry) {
  return fused.kernel == entry.kernel && fused.threads == entry.threads &&
         fused.params == entry.params && fused.states.outputs == entry.states.outputs &&
         fused.states.inputs.size() >= entry.states.inputs.size() &&
         std::equal(entry.states.inputs.begin(), entry.states.inputs.end(),
                    fused.states.inputs.begin());
}

class FusionAssumption {
 public:
  FusionAssumption(const Catalogue& catalogue, Extracted& extracted)
      : catalogue_(catalogue), extracted_(extracted), least_(LeastOfNodes()) {
    for (size_t g = 0; g < catalogue.instances.size(); ++g)
      by_first_[catalogue.instances[g].nodes[0]].push_back(g);
  }

  void Run() {
    for (const auto& [first, groups] : by_first_) {
      for (size_t fused : groups) {
        for (size_t group : groups) {
          if (StartsWith(catalogue_.instances[fused].nodes, catalogue_.instances[group].nodes))
            Raise(group, fused);
        }
      }
    }
  }

 private:
  const Entry& EntryOf(size_t group, size_t choice) const {
    const Kind& kind = catalogue_.kinds[static_cast<size_t>(catalogue_.instances[group].kind)];
    return kind.entries[static_cast<size_t>(extracted_.entries[group][choice])];
  }

  /// The least cost of each node alone.
  std::map<ir::NodeId, double> LeastOfNodes() const {
    std::map<ir::NodeId, double> least;
    for (size_t g = 0; g < catalogue_.instances.size(); ++g) {
      const Instance& instance = catalogue_.instances[g];
      if (instance.nodes.size() != 1) continue;
      double cost = 1e300;
      for (const solver::Choice& choice : extracted_.problem.groups[g].choices)
        cost = std::min(cost, choice.cost);
      least[instance.nodes[0]] = cost;
    }
    return least;
  }

  void Raise(size_t group, size_t fused) {
    const std::vector<ir::NodeId>& nodes = catalogue_.instances[fused].nodes;
    double rest = 0;
    for (size_t n = catalogue_.instances[group].nodes.size(); n < nodes.size(); ++n) {
      const auto least = least_.find(nodes[n]);
      if (least != least_.end()) rest += least->second;
    }
    std::vector<solver::Choice>& choices = extracted_.problem.groups[group].choices;
    for (size_t c = 0; c < choices.size(); ++c) {
      if (extracted_.measured[group][c]) continue;
      for (size_t f = 0; f < extracted_.entries[fused].size(); ++f) {
        if (!extracted_.measured[fused][f] || !IsFusedForm(EntryOf(fused, f), EntryOf(group, c)))
          continue;
        const double cost = extracted_.problem.groups[fused].choices[f].cost;
        choices[c].cost = std::max(choices[c].cost, (cost - rest) * kJustBehind);
      }
    }
  }

  const Catalogue& catalogue_;
  Extracted& extracted_;
  std::map<ir::NodeId, double> least_;
  std::map<ir::NodeId, std::vector<size_t>> by_first_;
};

}  // namespace

void AssumeOfParameters(const Kind& kind, const Assumptions& assumptions,
                        std::vector<EntryCost>& prices) {
  if (assumptions.least_of_default <= 0) return;
  for (size_t e = 0; e < kind.entries.size(); ++e) {
    const Entry& entry = kind.entries[e];
    if (entry.default_params || prices[e].measured) continue;
    for (size_t d = 0; d < kind.entries.size(); ++d) {
      const Entry& other = kind.entries[d];
      if (!other.default_params || other.kernel != entry.kernel || other.threads != entry.threads ||
          other.states != entry.states) {
        continue;
      }
      const double share = prices[d].measured ? assumptions.least_of_default : kJustBehind;
      prices[e].us = std::max(prices[e].us, prices[d].us * share);
    }
  }
}

void AssumeOfFusion(const Catalogue& catalogue, Extracted& extracted) {
  FusionAssumption(catalogue, extracted).Run();
}

}  // namespace fettle::planner
