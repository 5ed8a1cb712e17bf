#include "solver/exact/sweep.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/hash.h"
#include "solver/exact/sweep_order.h"

namespace fettle::solver {
namespace {

/// Each state is compared with so many cheaper ones that could stand in for it.
constexpr size_t kComparisons = 96;
/// So many of them take as long as one step.
constexpr double kComparisonsPerStep = 8;

/// By pair (a, b) of values of a variable: the most that a can cost more than b in one factor,
/// whatever the other variables are.
std::vector<Cost> Excess(const Network& network, const Factor& factor, int variable) {
  const size_t domain = network.domain(variable);
  size_t step = 1;
  for (size_t i = factor.scope.size(); factor.scope[--i] != variable;) {
    step *= network.domain(factor.scope[i]);
  }
  std::vector<Cost> excess(domain * domain, -kForbidden);
  for (size_t block = 0; block < factor.table.size(); block += step * domain) {
    for (size_t low = 0; low < step; ++low) {
      const Cost* costs = &factor.table[block + low];
      for (size_t a = 0; a < domain; ++a) {
        for (size_t b = 0; b < domain; ++b) {
          const Cost of_b = costs[b * step];
          if (of_b == kForbidden) continue;
          excess[a * domain + b] = std::max(excess[a * domain + b], costs[a * step] - of_b);
        }
      }
    }
  }
  return excess;
}

class Sweeper {
 public:
  Sweeper(const Network& network, const SweepLimits& limits)
      : network_(network),
        limits_(limits),
        factors_(FactorsByVariable(network)),
        slot_(network.unary.size(), -1),
        open_(network.factors.size()),
        waiting_(network.unary.size()) {
    for (size_t f = 0; f < open_.size(); ++f) {
      open_[f] = static_cast<int>(network.factors[f].scope.size());
    }
    for (size_t v = 0; v < waiting_.size(); ++v) waiting_[v] = static_cast<int>(factors_[v].size());
  }

  std::optional<Swept> Run() {
    Swept swept;
    const std::vector<int> order = FindSweepOrder(network_);
    states_.costs = {network_.constant};
    states_.origins = {-1};
    for (const int v : order) {
      steps_ += static_cast<double>(states_.costs.size()) * network_.domain(v);
      if (steps_ > limits_.most_steps) return std::nullopt;
      Step(v);
      Prune();
      const auto count = static_cast<int64_t>(states_.costs.size());
      if (count > limits_.most_states) {
        if (!limits_.is_beam) return std::nullopt;
        swept.is_exact = false;
        Truncate(limits_.most_states);
      }
      swept.peak_states = std::max(swept.peak_states, static_cast<int64_t>(states_.costs.size()));
      if (count == 0) return swept;
    }
    swept.cost = states_.costs.front();
    swept.values.assign(network_.unary.size(), 0);
    int32_t origin = states_.origins.front();
    for (size_t i = order.size(); i-- > 0;) {
      const Origin& at = history_[origin];
      swept.values[order[i]] = at.value;
      origin = at.before;
    }
    return swept;
  }

 private:
  /// How a state came about: the state before and the value of the variable taken.
  struct Origin {
    int32_t before;
    int32_t value;
  };
  /// Costs and values of the live variables (live_.size() for each state).
  struct States {
    std::vector<Cost> costs;
    std::vector<int32_t> origins;  // in history_
    std::vector<uint16_t> values;
  };

  /// Extends all states by each value of `v`; of those equal in what stays live keeps the cheapest.
  void Step(int v) {
    const std::vector<int> before = live_;
    std::vector<const Factor*> complete = Open(v);
    std::vector<size_t> from;  // by live variable: its place before, or that of `v`
    for (const int u : live_) {
      from.push_back(u == v ? before.size() : static_cast<size_t>(slot_[u]));
    }
    States next;
    std::unordered_map<uint64_t, std::vector<int32_t>> by_hash;
    std::vector<uint16_t> all(before.size() + 1), key(live_.size());
    for (size_t s = 0; s < states_.costs.size(); ++s) {
      std::copy_n(states_.values.begin() + static_cast<ptrdiff_t>(s * before.size()), before.size(),
                  all.begin());
      for (int x = 0; x < network_.domain(v); ++x) {
        all.back() = static_cast<uint16_t>(x);
        Cost cost = states_.costs[s] + network_.unary[v][x];
        for (const Factor* factor : complete) cost += CostIn(*factor, v, all);
        if (cost == kForbidden) continue;
        for (size_t i = 0; i < key.size(); ++i) key[i] = all[from[i]];
        Put(key, cost, {states_.origins[s], x}, by_hash, next);
      }
    }
    for (size_t i = 0; i < before.size(); ++i) slot_[before[i]] = -1;
    for (size_t i = 0; i < live_.size(); ++i) {
      slot_[live_[i]] = static_cast<int>(i);
    }
    states_ = std::move(next);
  }

  Cost CostIn(const Factor& factor, int v, const std::vector<uint16_t>& all) const {
    size_t entry = 0;
    for (const int u : factor.scope) {
      const size_t value = u == v ? all.back() : all[slot_[u]];
      entry = entry * network_.domain(u) + value;
    }
    return factor.table[entry];
  }

  void Put(const std::vector<uint16_t>& key, Cost cost, Origin origin,
           std::unordered_map<uint64_t, std::vector<int32_t>>& by_hash, States& next) {
    std::vector<int32_t>& same = by_hash[HashBytes(std::as_bytes(std::span(key)))];
    for (const int32_t other : same) {
      const auto at =
          next.values.begin() + static_cast<ptrdiff_t>(other) * static_cast<ptrdiff_t>(key.size());
      if (!std::equal(key.begin(), key.end(), at)) continue;
      if (cost < next.costs[other]) {
        next.costs[other] = cost;
        history_[next.origins[other]] = origin;
      }
      return;
    }
    same.push_back(static_cast<int32_t>(next.costs.size()));
    next.costs.push_back(cost);
    next.origins.push_back(static_cast<int32_t>(history_.size()));
    next.values.insert(next.values.end(), key.begin(), key.end());
    history_.push_back(origin);
  }

  /// Makes `v` live, drops what no factor waits for; returns the factors that are complete now.
  std::vector<const Factor*> Open(int v) {
    std::vector<const Factor*> complete;
    for (const int f : factors_[v]) {
      if (--open_[f] > 0) continue;
      complete.push_back(&network_.factors[f]);
      for (const int u : complete.back()->scope) --waiting_[u];
    }
    live_.push_back(v);
    std::erase_if(live_, [&](int u) { return waiting_[u] == 0; });
    return complete;
  }

  void Reorder(const std::vector<size_t>& order) {
    States kept;
    for (const size_t s : order) {
      kept.costs.push_back(states_.costs[s]);
      kept.origins.push_back(states_.origins[s]);
      const auto at = states_.values.begin() + static_cast<ptrdiff_t>(s * live_.size());
      kept.values.insert(kept.values.end(), at, at + static_cast<ptrdiff_t>(live_.size()));
    }
    states_ = std::move(kept);
  }

  void Truncate(size_t count) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});  // Prune has sorted by cost
    Reorder(order);
  }

  /// Drops states that a cheaper one can stand in for: it costs less by more than its live values
  /// can cost in all factors to come.
  void Prune() {
    std::vector<std::vector<Cost>> excess;
    for (const int u : live_) excess.push_back(ExcessToCome(u));
    std::vector<size_t> order(states_.costs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return states_.costs[a] < states_.costs[b]; });
    std::vector<size_t> kept;
    for (const size_t s : order) {
      const size_t compared = std::min(kept.size(), kComparisons);
      steps_ += static_cast<double>(compared) / kComparisonsPerStep;
      const bool beaten = std::any_of(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(compared),
                                      [&](size_t by) { return StandsIn(by, s, excess); });
      if (!beaten) kept.push_back(s);
    }
    Reorder(kept);
  }

  bool StandsIn(size_t by, size_t state, const std::vector<std::vector<Cost>>& excess) const {
    Cost cost = states_.costs[by];
    const uint16_t* a = states_.values.data() + by * live_.size();
    const uint16_t* b = states_.values.data() + state * live_.size();
    for (size_t i = 0; i < live_.size(); ++i) {
      if (a[i] == b[i]) continue;
      const size_t domain = network_.domain(live_[i]);
      cost += excess[i][a[i] * domain + b[i]];
      if (cost == kForbidden) return false;
    }
    return cost <= states_.costs[state];
  }

  std::vector<Cost> ExcessToCome(int v) {
    const size_t domain = network_.domain(v);
    std::vector<Cost> sum(domain * domain, 0);
    for (const int f : factors_[v]) {
      if (open_[f] == 0) continue;
      const auto key = std::pair(f, v);
      auto it = excess_.find(key);
      if (it == excess_.end()) {
        it = excess_.emplace(key, Excess(network_, network_.factors[f], v)).first;
      }
      // A value that is forbidden whatever comes gives -kForbidden: anything stands in for it. It
      // may meet an excess of +kForbidden in another factor, so it counts as 0.
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += it->second[i] == -kForbidden ? 0 : it->second[i];
      }
    }
    return sum;
  }

  const Network& network_;
  SweepLimits limits_;
  std::vector<std::vector<int>> factors_;
  std::vector<int> live_;     // variables, by place in a state
  std::vector<int> slot_;     // by variable: place in a state, or -1
  std::vector<int> open_;     // by factor: variables of it not taken
  std::vector<int> waiting_;  // by variable: factors not complete
  States states_;
  std::vector<Origin> history_;
  double steps_ = 0;
  std::map<std::pair<int, int>, std::vector<Cost>> excess_;
};

}  // namespace

std::optional<Swept> Sweep(const Network& network, const SweepLimits& limits) {
  return Sweeper(network, limits).Run();
}

}  // namespace fettle::solver
