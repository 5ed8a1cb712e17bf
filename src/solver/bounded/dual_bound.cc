#include "solver/bounded/dual_bound.h"

#include <algorithm>
#include <numeric>

namespace fettle::solver {
namespace {

/// Share of the newest subgradient in the direction of a step: single ones jump.
constexpr double kNewest = 0.3;

Cost LeastOf(const std::vector<Cost>& table) {
  return *std::min_element(table.begin(), table.end());
}

void AddAlong(const std::vector<Cost>& costs, const Axis& axis, std::vector<Cost>& table) {
  for (size_t a = 0; a < axis.outer; ++a) {
    for (size_t k = 0; k < axis.domain; ++k) {
      Cost* row = &table[(a * axis.domain + k) * axis.inner];
      for (size_t i = 0; i < axis.inner; ++i) row[i] += costs[k];
    }
  }
}

/// True where `bytes` more fit at all steps of `held`.
bool HasRoom(const Held& held, int64_t bytes, const std::vector<int64_t>& room) {
  if (bytes == 0) return true;
  return std::all_of(room.begin() + held.begin, room.begin() + held.end,
                     [bytes](int64_t left) { return left >= bytes; });
}

}  // namespace

DualBound::DualBound(const LimitedNetwork& problem)
    : problem_(problem),
      ties_(problem.network.unary.size()),
      held_of_(problem.network.unary.size()),
      prices_(problem.capacity.size(), 0),
      excess_(problem.capacity.size(), 0),
      cheapest_(problem.network.unary.size(), 0) {
  const Network& network = problem_.network;
  for (size_t f = 0; f < network.factors.size(); ++f) {
    const std::vector<int>& scope = network.factors[f].scope;
    std::vector<int> domains;
    for (const int v : scope) domains.push_back(network.domain(v));
    for (size_t i = 0; i < scope.size(); ++i) {
      ties_[Index(scope[i])].push_back(
          {static_cast<int>(f), AxisOf(domains, i), i > 0, i + 1 < scope.size()});
    }
  }
  for (size_t i = 0; i < problem_.held.size(); ++i) {
    held_of_[Index(problem_.held[i].variable)].push_back(static_cast<int>(i));
  }
  for (const auto& costs : network.unary) priced_.emplace_back(costs.size(), 0);
}

Cost DualBound::bound() const {
  const Network& network = problem_.network;
  Cost bound = network.constant;
  for (const auto& costs : network.unary) bound += LeastOf(costs);
  for (const Factor& factor : network.factors) bound += LeastOf(factor.table);
  for (size_t t = 0; t < prices_.size(); ++t) {
    bound -= prices_[t] * static_cast<double>(problem_.capacity[t]);
  }
  return bound;
}

void DualBound::Pass() {
  const int count = problem_.network.variables();
  for (int v = 0; v < count; ++v) Visit(v, true);
  for (int v = count; v-- > 0;) Visit(v, false);
}

void DualBound::Visit(int variable, bool forward) {
  std::vector<Cost>& costs = problem_.network.unary[Index(variable)];
  const std::vector<Tie>& ties = ties_[Index(variable)];
  messages_.resize(std::max(messages_.size(), ties.size()));
  int behind = 0;
  int ahead = 0;
  for (size_t i = 0; i < ties.size(); ++i) {
    messages_[i] = MinAlong(problem_.network.factors[Index(ties[i].factor)].table, ties[i].axis);
    for (size_t x = 0; x < costs.size(); ++x) costs[x] += messages_[i][x];
    behind += forward ? ties[i].has_earlier : ties[i].has_later;
    ahead += forward ? ties[i].has_later : ties[i].has_earlier;
  }
  const auto best = std::min_element(costs.begin(), costs.end());
  const Cost least = *best;
  cheapest_[Index(variable)] = static_cast<int>(best - costs.begin());

  const double share = 1.0 / std::max({1, behind, ahead});
  for (size_t i = 0; i < ties.size(); ++i) {
    const bool is_ahead = forward ? ties[i].has_later : ties[i].has_earlier;
    std::vector<Cost>& message = messages_[i];
    for (size_t x = 0; x < costs.size(); ++x) {
      message[x] = (is_ahead ? share * (costs[x] - least) : 0) - message[x];
    }
    AddAlong(message, ties[i].axis, problem_.network.factors[Index(ties[i].factor)].table);
  }
  const double left = ahead >= behind && ahead > 0 ? 0 : 1 - share * ahead;
  for (Cost& cost : costs) cost = least + left * (cost - least);
}

void DualBound::SetPrices(std::vector<double> prices) {
  prices_ = std::move(prices);
  std::vector<double> sums(prices_.size() + 1, 0);
  std::partial_sum(prices_.begin(), prices_.end(), sums.begin() + 1);
  for (int v = 0; v < problem_.network.variables(); ++v) {
    std::vector<Cost>& costs = problem_.network.unary[Index(v)];
    std::vector<Cost> priced(costs.size(), 0);
    for (const int index : held_of_[Index(v)]) {
      const Held& held = problem_.held[Index(index)];
      const double price = sums[Index(held.end)] - sums[Index(held.begin)];
      for (size_t x = 0; x < priced.size(); ++x) {
        priced[x] += price * static_cast<double>(held.bytes[x]);
      }
    }
    for (size_t x = 0; x < costs.size(); ++x) costs[x] += priced[x] - priced_[Index(v)][x];
    priced_[Index(v)] = std::move(priced);
  }
}

void DualBound::StepPrices(Cost gain) {
  if (prices_.empty()) return;
  const std::vector<int64_t> load = Load(problem_, cheapest_);
  double square = 0;
  for (size_t t = 0; t < load.size(); ++t) {
    const double excess = static_cast<double>(load[t] - problem_.capacity[t]);
    excess_[t] = (1 - kNewest) * excess_[t] + kNewest * excess;
    if (prices_[t] > 0 || excess_[t] > 0) square += excess_[t] * excess_[t];
  }
  if (square == 0) return;
  std::vector<double> prices = prices_;
  for (size_t t = 0; t < load.size(); ++t) {
    prices[t] = std::max(0.0, prices[t] + gain / square * excess_[t]);
  }
  SetPrices(std::move(prices));
}

std::vector<Cost> DualBound::MinGiven(const Tie& tie, int variable,
                                      const Assignment& values) const {
  const Factor& factor = problem_.network.factors[Index(tie.factor)];
  std::vector<size_t> places = {0};
  for (const int v : factor.scope) {
    const int domain = problem_.network.domain(v);
    std::vector<size_t> next;
    for (const size_t place : places) {
      const size_t first = place * Index(domain);
      if (v == variable) {
        next.push_back(first);
      } else if (values[Index(v)] >= 0) {
        next.push_back(first + Index(values[Index(v)]));
      } else {
        for (size_t x = 0; x < Index(domain); ++x) next.push_back(first + x);
      }
    }
    places = std::move(next);
  }
  std::vector<Cost> least(tie.axis.domain, kForbidden);
  for (const size_t place : places) {
    for (size_t x = 0; x < least.size(); ++x) {
      least[x] = std::min(least[x], factor.table[place + x * tie.axis.inner]);
    }
  }
  return least;
}

std::optional<Assignment> DualBound::Round() const {
  Assignment values(problem_.network.unary.size(), -1);
  std::vector<int64_t> room = problem_.capacity;
  for (int v = 0; v < problem_.network.variables(); ++v) {
    std::vector<Cost> costs = problem_.network.unary[Index(v)];
    for (const Tie& tie : ties_[Index(v)]) {
      const std::vector<Cost> least = MinGiven(tie, v, values);
      for (size_t x = 0; x < costs.size(); ++x) costs[x] += least[x];
    }
    for (const int index : held_of_[Index(v)]) {
      const Held& held = problem_.held[Index(index)];
      for (size_t x = 0; x < costs.size(); ++x) {
        if (costs[x] < kForbidden && !HasRoom(held, held.bytes[x], room)) costs[x] = kForbidden;
      }
    }
    const auto best = std::min_element(costs.begin(), costs.end());
    if (*best == kForbidden) return std::nullopt;
    values[Index(v)] = static_cast<int>(best - costs.begin());
    for (const int index : held_of_[Index(v)]) {
      const Held& held = problem_.held[Index(index)];
      for (int t = held.begin; t < held.end; ++t) {
        room[Index(t)] -= held.bytes[Index(values[Index(v)])];
      }
    }
  }
  return values;
}

std::vector<std::vector<Cost>> DualBound::BoundsByValue() const {
  const Cost base = bound();
  std::vector<std::vector<Cost>> bounds = problem_.network.unary;
  for (size_t v = 0; v < bounds.size(); ++v) {
    // All of the tables' minima but those of this variable and its factors stay in the bound.
    Cost rest = base - LeastOf(bounds[v]);
    for (const Tie& tie : ties_[v]) {
      const std::vector<Cost>& table = problem_.network.factors[Index(tie.factor)].table;
      const std::vector<Cost> least = MinAlong(table, tie.axis);
      rest -= LeastOf(least);
      for (size_t x = 0; x < bounds[v].size(); ++x) bounds[v][x] += least[x];
    }
    for (Cost& cost : bounds[v]) cost += rest;
  }
  return bounds;
}

LimitedNetwork DualBound::Reparametrised() const {
  LimitedNetwork problem = problem_;
  for (size_t v = 0; v < priced_.size(); ++v) {
    for (size_t x = 0; x < priced_[v].size(); ++x) problem.network.unary[v][x] -= priced_[v][x];
  }
  return problem;
}

}  // namespace fettle::solver
