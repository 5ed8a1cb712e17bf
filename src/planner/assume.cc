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
    for (size_t g = 0; g < catalogue.instances.size(); ++g) {
      by_first_[catalogue.instances[g].nodes[0]].push_back(g);
      for (ir::NodeId node : catalogue.instances[g].nodes) by_node_[node].push_back(g);
    }
  }

  void Run() {
    for (const auto& [first, groups] : by_first_) {
      for (size_t fused : groups) {
        for (size_t group : groups) {
          if (!StartsWith(catalogue_.instances[fused].nodes, catalogue_.instances[group].nodes))
            continue;
          if (OnlyFusedCoversTheRest(group, fused)) {
            Drop(group, fused);
          } else {
            Raise(group, fused);
          }
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

  /// Whether whatever covers the nodes that `fused` has beyond `group` stays within them: then
  /// `group` is never needed beside another group that takes one of them.
  bool OnlyFusedCoversTheRest(size_t group, size_t fused) const {
    const std::vector<ir::NodeId>& all = catalogue_.instances[fused].nodes;
    const size_t first = catalogue_.instances[group].nodes.size();
    const auto within = [](const auto begin, const auto end, ir::NodeId node) {
      return std::find(begin, end, node) != end;
    };
    const auto rest = all.begin() + static_cast<ptrdiff_t>(first);
    return std::all_of(rest, all.end(), [&](ir::NodeId node) {
      const std::vector<size_t>& covers = by_node_.at(node);
      return std::all_of(covers.begin(), covers.end(), [&](size_t other) {
        const std::vector<ir::NodeId>& nodes = catalogue_.instances[other].nodes;
        const bool meets = std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) {
          return within(all.begin(), rest, id);
        });
        return meets || std::all_of(nodes.begin(), nodes.end(),
                                    [&](ir::NodeId id) { return within(rest, all.end(), id); });
      });
    });
  }

  /// Takes the choices off `group` that `fused` has in their fused form.
  void Drop(size_t group, size_t fused) {
    solver::Group& from = extracted_.problem.groups[group];
    size_t kept = 0;
    for (size_t c = 0; c < from.choices.size(); ++c) {
      bool is_fused = false;
      for (size_t f = 0; f < extracted_.entries[fused].size() && !is_fused; ++f)
        is_fused = IsFusedForm(EntryOf(fused, f), EntryOf(group, c));
      if (is_fused) continue;
      std::swap(from.choices[kept], from.choices[c]);
      extracted_.entries[group][kept] = extracted_.entries[group][c];
      extracted_.measured[group][kept] = extracted_.measured[group][c];
      ++kept;
    }
    from.choices.resize(kept);
    extracted_.entries[group].resize(kept);
    extracted_.measured[group].resize(kept);
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
  std::map<ir::NodeId, std::vector<size_t>> by_first_, by_node_;
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
