#include "solver/encode/need_tree.h"

#include <algorithm>
#include <set>

#include "solver/network/factors.h"

namespace fettle::solver {
namespace {

/// Values of one set variable; more would make tables that nothing can hold.
constexpr size_t kMostSets = 1 << 16;

/// `needs` (numbers of states) as a set over `states`, which holds them all.
StateSet SetOver(const std::vector<int>& states, const std::vector<int>& needs) {
  StateSet set = 0;
  for (const int need : needs) {
    const auto at = std::lower_bound(states.begin(), states.end(), need);
    set |= StateSet{1} << (at - states.begin());
  }
  return set;
}

/// `set` over `from` as a set over `to`, which holds all of `from`.
StateSet Translate(StateSet set, const std::vector<int>& from, const std::vector<int>& to) {
  std::vector<int> needs;
  for (size_t i = 0; i < from.size(); ++i) {
    if ((set >> i & 1) != 0) needs.push_back(from[i]);
  }
  return SetOver(to, needs);
}

}  // namespace

int NeedTree::NumberOf(const std::string& state) {
  return numbers_.emplace(state, static_cast<int>(numbers_.size())).first->second;
}

std::vector<int> NeedTree::Add(const std::vector<Reader>& readers,
                               const std::vector<int>& terminals,
                               const std::vector<std::string>& states) {
  std::vector<int> path;
  int parent = -1;
  for (const Reader& reader : readers) {
    Key key{parent, reader.variable, {}};
    for (const StateSet set : reader.needs) {
      std::vector<int>& needs = key.needs.emplace_back();
      for (size_t i = 0; i < terminals.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        needs.push_back(NumberOf(states[terminals[i]]));
      }
      std::sort(needs.begin(), needs.end());
    }
    const auto [it, is_new] = by_key_.emplace(std::move(key), static_cast<int>(nodes_.size()));
    if (is_new) {
      Node node;
      node.parent = parent;
      node.variable = reader.variable;
      node.needs = it->first.needs;
      std::set<int> used;
      if (parent >= 0) {
        const Node& above = nodes_[parent];
        node.depth = above.depth;
        used.insert(above.states.begin(), above.states.end());
      }
      ++node.depth;
      for (const std::vector<int>& needs : node.needs) used.insert(needs.begin(), needs.end());
      node.states.assign(used.begin(), used.end());
      nodes_.push_back(std::move(node));
    }
    parent = it->second;
    path.push_back(parent);
  }
  return path;
}

Status NeedTree::MakeVariables(Network& network) {
  std::vector<int> order;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].is_marked && nodes_[n].depth > 1) order.push_back(static_cast<int>(n));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return node(a).depth < node(b).depth; });
  for (const int n : order) {
    RETURN_IF_ERROR(MakeVariable(nodes_[n], network));
  }
  return OkStatus();
}

Status NeedTree::MakeVariable(Node& made, Network& network) {
  if (made.states.size() > kMostTerminals) {
    return Unsupported("a tensor may be needed in {} states at once, more than {}",
                       made.states.size(), kMostTerminals);
  }
  std::set<StateSet> sets = {0};
  for (const Node* n = &made;; n = &nodes_[n->parent]) {
    std::set<StateSet> grown = sets;
    for (const std::vector<int>& needs : n->needs) {
      const StateSet need = SetOver(made.states, needs);
      for (const StateSet set : sets) grown.insert(set | need);
    }
    sets = std::move(grown);
    if (sets.size() > kMostSets) return Unsupported("too many sets of states for one tensor");
    if (n->parent < 0) break;
  }
  made.sets.assign(sets.begin(), sets.end());
  made.set_variable = AddVariable(network, std::vector<Cost>(made.sets.size(), 0));
  for (const Node* n = &made;;) {
    std::vector<StateSet> needs;
    for (const std::vector<int>& need : n->needs) needs.push_back(SetOver(made.states, need));
    AddPair(network, made.set_variable, n->variable, [&](int set, int value) {
      const StateSet need = needs[value];
      return (need & ~made.sets[set]) == 0 ? 0 : kForbidden;
    });
    if (n->parent < 0) return OkStatus();
    n = &nodes_[n->parent];
    if (n->set_variable < 0) continue;
    std::vector<StateSet> parts;
    for (const StateSet set : n->sets) parts.push_back(Translate(set, n->states, made.states));
    AddPair(network, made.set_variable, n->set_variable, [&](int set, int part) {
      const StateSet need = parts[part];
      return (need & ~made.sets[set]) == 0 ? 0 : kForbidden;
    });
    return OkStatus();
  }
}

StateSet NeedTree::ToTerminals(int node, StateSet set, const std::vector<int>& terminals,
                               const std::vector<std::string>& states) const {
  const std::vector<int>& used = nodes_[node].states;
  StateSet to = 0;
  for (size_t i = 0; i < terminals.size(); ++i) {
    const auto number = numbers_.find(states[terminals[i]]);
    if (number == numbers_.end()) continue;
    const auto at = std::lower_bound(used.begin(), used.end(), number->second);
    if (at == used.end() || *at != number->second) continue;
    if ((set >> (at - used.begin()) & 1) != 0) to |= StateSet{1} << i;
  }
  return to;
}

}  // namespace fettle::solver
