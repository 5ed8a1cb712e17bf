#include "solver/encode/reduce.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "solver/encode/conversions.h"

namespace fettle::solver {
namespace {

/// Time and error of the fastest chain of conversions between two states.
struct Chain {
  Cost cost = 0;
  double error = 0;
};

class Dominance {
 public:
  explicit Dominance(const Problem& problem) : problem_(problem), costs_(problem.tensors.size()) {}

  std::vector<int> Filter(const Group& group, const std::vector<int>& kept) {
    const std::vector<int> collapsed = Collapse(group, kept);
    if (problem_.memory_limit >= 0) return collapsed;
    std::vector<bool> gone(collapsed.size(), false);
    for (size_t k = 0; k < collapsed.size(); ++k) {
      for (size_t j = 0; j < collapsed.size() && !gone[k]; ++j) {
        if (j == k || gone[j]) continue;
        gone[k] = CanReplace(group, ChoiceAt(group, collapsed[j]), ChoiceAt(group, collapsed[k]));
      }
    }
    std::vector<int> left;
    for (size_t k = 0; k < collapsed.size(); ++k) {
      if (!gone[k]) left.push_back(collapsed[k]);
    }
    return left;
  }

 private:
  static const Choice& ChoiceAt(const Group& group, int index) { return group.choices[index]; }

  /// Among choices of equal states keeps those that are best in time, error or workspace, as far as
  /// limits make these count.
  std::vector<int> Collapse(const Group& group, std::vector<int> kept) const {
    const auto key = [&](int index) {
      const Choice& c = ChoiceAt(group, index);
      return std::tie(c.inputs, c.outputs, c.cost, c.error, c.workspace);
    };
    std::sort(kept.begin(), kept.end(), [&](int a, int b) { return key(a) < key(b); });
    std::vector<int> left;
    size_t first_of_states = 0;
    for (const int index : kept) {
      const Choice& choice = ChoiceAt(group, index);
      if (!left.empty()) {
        const Choice& last = ChoiceAt(group, left.back());
        if (last.inputs != choice.inputs || last.outputs != choice.outputs) {
          first_of_states = left.size();
        }
      }
      const bool beaten = std::any_of(
          left.begin() + static_cast<ptrdiff_t>(first_of_states), left.end(), [&](int other) {
            const Choice& better = ChoiceAt(group, other);  // no slower: sorted by cost
            return (problem_.error_budget < 0 || better.error <= choice.error) &&
                   (problem_.memory_limit < 0 || better.workspace <= choice.workspace);
          });
      if (!beaten) left.push_back(index);
    }
    std::sort(left.begin(), left.end());
    return left;
  }

  bool CanReplace(const Group& group, const Choice& by, const Choice& choice) {
    Cost cost = by.cost;
    double error = by.error;
    const auto fits = [&] {
      return cost <= choice.cost && (problem_.error_budget < 0 || error <= choice.error);
    };
    for (size_t i = 0; i < group.inputs.size() && fits(); ++i) {
      Add(group.inputs[i], choice.inputs[i], by.inputs[i], cost, error);
    }
    for (size_t i = 0; i < group.outputs.size() && fits(); ++i) {
      Add(group.outputs[i], by.outputs[i], choice.outputs[i], cost, error);
    }
    return fits();
  }

  void Add(int tensor, int from, int to, Cost& cost, double& error) {
    if (from == to) return;
    const Chain& chain = ChainOf(tensor, from, to);
    cost += chain.cost;
    error += chain.error;
  }

  const Chain& ChainOf(size_t tensor, int from, int to) {
    std::vector<Chain>& chains = costs_[tensor];
    const size_t states = problem_.tensors[tensor].states.size();
    if (chains.empty()) chains = FindChains(problem_.tensors[tensor]);
    return chains[from * states + to];
  }

  static std::vector<Chain> FindChains(const Tensor& tensor) {
    const size_t states = tensor.states.size();
    std::vector<Chain> chains(states * states, {kForbidden, 0});
    for (size_t s = 0; s < states; ++s) chains[s * states + s] = {};
    for (const Conversion& c : tensor.conversions) {
      chains[c.from * states + c.to] = {c.cost, c.error};
    }
    for (size_t via = 0; via < states; ++via) {
      for (size_t from = 0; from < states; ++from) {
        const Chain& head = chains[from * states + via];
        if (head.cost == kForbidden) continue;
        for (size_t to = 0; to < states; ++to) {
          const Chain& tail = chains[via * states + to];
          Chain& chain = chains[from * states + to];
          const Chain joined{head.cost + tail.cost, head.error + tail.error};
          if (std::tie(joined.cost, joined.error) < std::tie(chain.cost, chain.error)) {
            chain = joined;
          }
        }
      }
    }
    return chains;
  }

  const Problem& problem_;
  std::vector<std::vector<Chain>> costs_;  // by tensor: [from][to], empty until needed
};

}  // namespace

Kept KeepAll(const Problem& problem) {
  Kept kept;
  for (const Group& group : problem.groups) {
    kept.emplace_back(group.choices.size());
    std::iota(kept.back().begin(), kept.back().end(), 0);
  }
  return kept;
}

Kept DropDominated(const Problem& problem, Kept kept) {
  Dominance dominance(problem);
  for (size_t g = 0; g < kept.size(); ++g) kept[g] = dominance.Filter(problem.groups[g], kept[g]);
  return kept;
}

}  // namespace fettle::solver
