#include "solver/bounded/priced_memory.h"

#include <algorithm>

namespace fettle::solver {

PricedMemory::PricedMemory(const LimitedNetwork& problem, const std::vector<double>& prices,
                           const Assignment& values, double least)
    : problem_(problem),
      held_of_(problem.network.unary.size()),
      prices_(prices),
      load_(Load(problem, values)) {
  for (size_t i = 0; i < problem.held.size(); ++i)
    held_of_[Index(problem.held[i].variable)].push_back(static_cast<int>(i));
  const double highest = prices.empty() ? 0 : *std::max_element(prices.begin(), prices.end());
  least_weight_ = weight_ = std::max(4 * highest, least);
  Sum();
}

void PricedMemory::Sum() {
  overload_ = 0;
  for (size_t t = 0; t < load_.size(); ++t)
    overload_ += static_cast<double>(std::max<int64_t>(0, load_[t] - problem_.capacity[t]));
}

void PricedMemory::AdaptWeight() {
  weight_ = overload_ > 0 ? weight_ * 1.2 : std::max(least_weight_, weight_ / 1.1);
  price_sums_.assign(load_.size() + 1, 0);
  for (size_t t = 0; t < load_.size(); ++t) {
    const double extra = load_[t] > problem_.capacity[t] ? weight_ : 0;
    price_sums_[t + 1] = price_sums_[t] + prices_[t] + extra;
  }
}

void PricedMemory::AddPrices(int variable, std::vector<Cost>& costs) const {
  for (const int index : held_of_[Index(variable)]) {
    const Held& held = problem_.held[Index(index)];
    const double price = price_sums_[Index(held.end)] - price_sums_[Index(held.begin)];
    if (price == 0) continue;
    for (size_t x = 0; x < costs.size(); ++x)
      costs[x] += price * static_cast<double>(held.bytes[x]);
  }
}

void PricedMemory::Change(int variable, int old, int value) {
  for (const int index : held_of_[Index(variable)]) {
    const Held& held = problem_.held[Index(index)];
    const int64_t more = held.bytes[Index(value)] - held.bytes[Index(old)];
    if (more == 0) continue;
    for (int t = held.begin; t < held.end; ++t) load_[Index(t)] += more;
  }
}

}  // namespace fettle::solver
