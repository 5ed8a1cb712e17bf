#include "planner/assume.h"

#include <algorithm>
#include <map>
#include <set>

namespace fettle::planner {
namespace {

bool Has(const std::vector<ir::NodeId>& nodes, ir::NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// Whether `nodes` has all of `part` and more.
bool Exceeds(const std::vector<ir::NodeId>& nodes, const std::vector<ir::NodeId>& part) {
  return nodes.size() > part.size() &&
         std::all_of(part.begin(), part.end(), [&](ir::NodeId node) { return Has(nodes, node); });
}

/// An operand in one way to compute a group.
struct Place {
  const State& state;
  DType dtype;
};

/// The same order in the same memory; of equal types also the same storage.
bool IsAlike(const Place& a, const Place& b) {
  return a.state.device == b.state.device && a.state.memory == b.state.memory &&
         a.state.layout == b.state.layout && a.state.external == b.state.external &&
         (a.dtype != b.dtype || a.state.storage == b.state.storage);
}

/// One way to compute a group of the graph.
struct Form {
  const Instance& instance;
  const Kind& kind;
  const Entry& entry;

  Place input(size_t i) const {
    return {entry.states.inputs[i], kind.group->value(kind.group->inputs[i]).dtype};
  }
  Place output(size_t i) const {
    return {entry.states.outputs[i], kind.group->value(kind.group->outputs[i]).dtype};
  }
  /// Where it reads a value; -1: it does not.
  int Find(ir::ValueId value) const {
    const auto at = std::find(instance.inputs.begin(), instance.inputs.end(), value);
    return at == instance.inputs.end() ? -1 : static_cast<int>(at - instance.inputs.begin());
  }
};

/// The same kernel in the same way. What both read and write is alike; what `part` reads from nodes
/// that only `fused` has is as `fused` reads what these nodes read.
bool IsFusedForm(const Form& fused, const Form& part) {
  if (fused.entry.kernel != part.entry.kernel || fused.entry.threads != part.entry.threads ||
      fused.instance.outputs.size() != part.instance.outputs.size())
    return false;
  for (size_t o = 0; o < part.instance.outputs.size(); ++o)
    if (!IsAlike(fused.output(o), part.output(o))) return false;
  for (size_t i = 0; i < part.instance.inputs.size(); ++i) {
    const int shared = fused.Find(part.instance.inputs[i]);
    if (shared >= 0) {
      if (!IsAlike(fused.input(shared), part.input(i))) return false;
      continue;
    }
    for (size_t f = 0; f < fused.instance.inputs.size(); ++f)
      if (part.Find(fused.instance.inputs[f]) < 0 && !IsAlike(fused.input(f), part.input(i)))
        return false;
  }
  return true;
}

class FusionAssumption {
 public:
  FusionAssumption(const Catalogue& catalogue, Extracted& extracted)
      : catalogue_(catalogue), extracted_(extracted), least_(LeastOfNodes()) {
    for (size_t g = 0; g < catalogue.instances.size(); ++g)
      for (ir::NodeId node : catalogue.instances[g].nodes) by_node_[node].push_back(g);
  }

  void Run() {
    for (size_t fused = 0; fused < catalogue_.instances.size(); ++fused) {
      for (size_t part : PartsOf(fused)) {
        if (OnlyFusedCoversTheRest(part, fused)) {
          Drop(part, fused);
        } else {
          Raise(part, fused);
        }
      }
    }
  }

 private:
  const std::vector<ir::NodeId>& NodesOf(size_t group) const {
    return catalogue_.instances[group].nodes;
  }

  Form FormOf(size_t group, size_t choice) const {
    const Instance& instance = catalogue_.instances[group];
    const Kind& kind = catalogue_.kinds[instance.kind];
    return {instance, kind, kind.entries[extracted_.entries[group][choice]]};
  }

  /// The groups of some of the nodes of `fused`.
  std::set<size_t> PartsOf(size_t fused) const {
    std::set<size_t> parts;
    for (ir::NodeId node : NodesOf(fused)) {
      for (size_t group : by_node_.at(node))
        if (Exceeds(NodesOf(fused), NodesOf(group))) parts.insert(group);
    }
    return parts;
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
    const std::vector<ir::NodeId>&part = NodesOf(group), &all = NodesOf(fused);
    return std::all_of(all.begin(), all.end(), [&](ir::NodeId node) {
      if (Has(part, node)) return true;
      const std::vector<size_t>& covers = by_node_.at(node);
      return std::all_of(covers.begin(), covers.end(), [&](size_t other) {
        const std::vector<ir::NodeId>& nodes = NodesOf(other);
        const bool meets =
            std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return Has(part, id); });
        return meets ||
               std::all_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return Has(all, id); });
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
        is_fused = IsFusedForm(FormOf(fused, f), FormOf(group, c));
      if (is_fused) continue;
      std::swap(from.choices[kept], from.choices[c]);
      extracted_.entries[group][kept] = extracted_.entries[group][c];
      extracted_.measured[group][kept] = extracted_.measured[group][c];
      extracted_.proposals[group][kept] = extracted_.proposals[group][c];
      ++kept;
    }
    from.choices.resize(kept);
    extracted_.entries[group].resize(kept);
    extracted_.measured[group].resize(kept);
    extracted_.proposals[group].resize(kept);
  }

  void Raise(size_t group, size_t fused) {
    double rest = 0;
    for (ir::NodeId node : NodesOf(fused)) {
      const auto least = least_.find(node);
      if (!Has(NodesOf(group), node) && least != least_.end()) rest += least->second;
    }
    std::vector<solver::Choice>& choices = extracted_.problem.groups[group].choices;
    for (size_t c = 0; c < choices.size(); ++c) {
      if (extracted_.measured[group][c]) continue;
      for (size_t f = 0; f < extracted_.entries[fused].size(); ++f) {
        if (!extracted_.measured[fused][f] || !IsFusedForm(FormOf(fused, f), FormOf(group, c)))
          continue;
        const double cost = extracted_.problem.groups[fused].choices[f].cost;
        choices[c].cost = std::max(choices[c].cost, (cost - rest) * kJustBehind);
      }
    }
  }

  const Catalogue& catalogue_;
  Extracted& extracted_;
  std::map<ir::NodeId, double> least_;
  std::map<ir::NodeId, std::vector<size_t>> by_node_;
};

}  // namespace

void AssumeOfFusion(const Catalogue& catalogue, Extracted& extracted) {
  FusionAssumption(catalogue, extracted).Run();
}

}  // namespace fettle::planner
