#include "solver/encode/conversions.h"

#include <algorithm>

namespace fettle::solver {

ConversionCosts::ConversionCosts(const Tensor& tensor, std::vector<int> terminals,
                                 const Prices& prices, int step)
    : tensor_(tensor),
      terminals_(std::move(terminals)),
      states_(static_cast<int>(tensor.states.size())),
      nodes_(states_ + (tensor.given.empty() ? 0 : 1)) {
  FindPaths(prices, step);
}

void ConversionCosts::FindPaths(const Prices& prices, int step) {
  const auto entries = static_cast<size_t>(nodes_) * static_cast<size_t>(nodes_);
  path_.assign(entries, kForbidden);
  first_.assign(entries, -1);
  for (int s = 0; s < nodes_; ++s) path_[Index(s, s)] = 0;
  for (size_t c = 0; c < tensor_.conversions.size(); ++c) {
    const Conversion& conversion = tensor_.conversions[c];
    Cost cost = prices.time * conversion.cost + prices.error * conversion.error;
    if (!tensor_.bytes.empty()) {
      cost += prices.BytesAt(step) * static_cast<double>(tensor_.bytes[conversion.to]);
    }
    path_[Index(conversion.from, conversion.to)] = cost;
    first_[Index(conversion.from, conversion.to)] = static_cast<int>(c);
  }
  for (const int state : tensor_.given) path_[Index(given(), state)] = 0;
  // Through each state in turn (Floyd and Warshall).
  for (int via = 0; via < states_; ++via) {
    for (int from = 0; from < nodes_; ++from) {
      const Cost to_via = path_[Index(from, via)];
      if (from == via || to_via == kForbidden) continue;
      for (int to = 0; to < states_; ++to) {
        const Cost cost = to_via + path_[Index(via, to)];
        if (cost >= path_[Index(from, to)]) continue;
        path_[Index(from, to)] = cost;
        const int first = first_[Index(from, via)];
        first_[Index(from, to)] = first >= 0 ? first : first_[Index(via, to)];
      }
    }
  }
}

// Dreyfus and Wagner: a tree that serves a set goes along a path to a state where it serves two
// parts of the set.
const std::vector<Cost>& ConversionCosts::Trees(StateSet needed) {
  if (const auto found = trees_.find(needed); found != trees_.end()) return found->second;
  std::vector<Cost> trees(nodes_, kForbidden);
  const StateSet low = needed & (~needed + 1);
  if (needed == low) {
    const int terminal = terminals_[__builtin_ctzll(needed)];
    for (int v = 0; v < nodes_; ++v) trees[v] = Path(v, terminal);
    return trees_.emplace(needed, std::move(trees)).first->second;
  }
  std::vector<Cost> split(trees);
  for (StateSet part = (needed - 1) & needed; part > 0; part = (part - 1) & needed) {
    if ((part & low) == 0) continue;  // the other half of a split that is seen anyway
    const std::vector<Cost>& a = Trees(part);
    const std::vector<Cost>& b = Trees(needed ^ part);
    for (size_t v = 0; v < split.size(); ++v) split[v] = std::min(split[v], a[v] + b[v]);
  }
  for (int v = 0; v < nodes_; ++v) {
    Cost& best = trees[v];
    for (int u = 0; u < nodes_; ++u) {
      best = std::min(best, Path(v, u) + split[u]);
    }
  }
  return trees_.emplace(needed, std::move(trees)).first->second;
}

Cost ConversionCosts::Tree(int root, StateSet needed) {
  if (needed == 0) return 0;
  if ((needed & (needed - 1)) == 0) {
    return Path(root, terminals_[__builtin_ctzll(needed)]);
  }
  return Trees(needed)[root];
}

void ConversionCosts::AddPath(int from, int to, std::vector<int>& used) const {
  while (from != to) {
    const int first = first_[Index(from, to)];
    if (first < 0) return;  // from the source of given copies right to one of them
    used.push_back(first);
    from = tensor_.conversions[first].to;
  }
}

void ConversionCosts::AddTree(int root, StateSet needed, std::vector<int>& used) {
  if ((needed & (needed - 1)) == 0) {
    return AddPath(root, terminals_[__builtin_ctzll(needed)], used);
  }
  Cost best = kForbidden;
  int best_via = root;
  StateSet best_part = 0;
  for (StateSet part = (needed - 1) & needed; part > 0; part = (part - 1) & needed) {
    for (int via = 0; via < nodes_; ++via) {
      const Cost cost = Path(root, via) + Tree(via, part) + Tree(via, needed ^ part);
      if (cost >= best) continue;
      best = cost;
      best_via = via;
      best_part = part;
    }
  }
  AddPath(root, best_via, used);
  AddTree(best_via, best_part, used);
  AddTree(best_via, needed ^ best_part, used);
}

// Parts of a tree found apart may make a state twice where conversions cost nothing: the first way
// stays. What nothing needs any more goes.
std::vector<int> ConversionCosts::InOrder(int root, StateSet needed,
                                          const std::vector<int>& used) const {
  std::vector<bool> there(states_, false);
  if (root != given()) there[root] = true;
  if (root == given()) {
    for (const int state : tensor_.given) there[state] = true;
  }
  std::vector<int> ordered;
  for (bool grown = true; grown;) {
    grown = false;
    for (const int c : used) {
      const Conversion& conversion = tensor_.conversions[c];
      if (!there[conversion.from] || there[conversion.to]) {
        continue;
      }
      there[conversion.to] = true;
      ordered.push_back(c);
      grown = true;
    }
  }
  std::vector<bool> wanted(states_, false);
  for (size_t i = 0; i < terminals_.size(); ++i) {
    if ((needed >> i & 1) != 0) wanted[terminals_[i]] = true;
  }
  std::vector<int> kept;
  for (auto c = ordered.rbegin(); c != ordered.rend(); ++c) {
    const Conversion& conversion = tensor_.conversions[*c];
    if (!wanted[conversion.to]) continue;
    wanted[conversion.from] = true;
    kept.push_back(*c);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::vector<int> ConversionCosts::TreeConversions(int root, StateSet needed) {
  std::vector<int> used;
  if (needed == 0 || Tree(root, needed) == kForbidden) return used;
  AddTree(root, needed, used);
  return InOrder(root, needed, used);
}

}  // namespace fettle::solver
