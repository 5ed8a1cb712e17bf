#include "solver/network/memory_steps.h"

#include <algorithm>
#include <bit>
#include <map>

namespace fettle::solver {
namespace {

int64_t Least(const Held& held) { return *std::min_element(held.bytes.begin(), held.bytes.end()); }
int64_t Most(const Held& held) { return *std::max_element(held.bytes.begin(), held.bytes.end()); }

std::vector<Held> FlattenAll(const LimitedNetwork& problem) {
  std::vector<std::vector<Held>> by_variable(problem.network.unary.size());
  for (const Held& held : problem.held) by_variable[Index(held.variable)].push_back(held);
  std::vector<Held> all;
  for (int v = 0; v < problem.network.variables(); ++v) {
    for (Held& held : Flatten(by_variable[Index(v)], v, problem.network.domain(v))) {
      all.push_back(std::move(held));
    }
  }
  return all;
}

/// The sum of amount(held) over what is held at each step.
template <typename Amount>
std::vector<int64_t> SumBySteps(const std::vector<Held>& all, int steps, Amount amount) {
  std::vector<int64_t> sums(Index(steps) + 1, 0);
  for (const Held& held : all) {
    sums[Index(held.begin)] += amount(held);
    sums[Index(held.end)] -= amount(held);
  }
  for (size_t t = 1; t < sums.size(); ++t) sums[t] += sums[t - 1];
  sums.pop_back();
  return sums;
}

/// The least value in any range of a list.
class RangeMinimum {
 public:
  explicit RangeMinimum(std::vector<int64_t> values) : levels_{std::move(values)} {
    const size_t count = levels_[0].size();
    for (size_t width = 1; 2 * width <= count; width *= 2) {
      const std::vector<int64_t>& half = levels_.back();
      std::vector<int64_t> next(count - 2 * width + 1);
      for (size_t i = 0; i < next.size(); ++i) next[i] = std::min(half[i], half[i + width]);
      levels_.push_back(std::move(next));
    }
  }
  int64_t Of(int begin, int end) const {
    const size_t level = Index(std::bit_width(static_cast<unsigned>(end - begin)) - 1);
    return std::min(levels_[level][Index(begin)],
                    levels_[level][Index(end) - (size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;  // level l: least of 2^l values from each place
};

/// Which of two neighbour steps asks for more, whatever the values are.
struct Order {
  bool rises = true;  // the later step holds no less and has no more capacity
  bool falls = true;  // the earlier one
};

/// By step: how it compares with the one before.
std::vector<Order> CompareNeighbours(const std::vector<Held>& all,
                                     const std::vector<int64_t>& capacity) {
  std::vector<Order> orders(capacity.size());
  for (size_t t = 1; t < capacity.size(); ++t) {
    orders[t] = {capacity[t] <= capacity[t - 1], capacity[t] >= capacity[t - 1]};
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const Held& held = all[i];
    const bool follows =
        i > 0 && all[i - 1].variable == held.variable && all[i - 1].end == held.begin;
    if (held.begin > 0) {
      for (size_t x = 0; x < held.bytes.size(); ++x) {
        const int64_t before = follows ? all[i - 1].bytes[x] : 0;
        if (held.bytes[x] < before) orders[Index(held.begin)].rises = false;
        if (held.bytes[x] > before) orders[Index(held.begin)].falls = false;
      }
    }
    const bool goes_on =
        i + 1 < all.size() && all[i + 1].variable == held.variable && all[i + 1].begin == held.end;
    if (!goes_on && Index(held.end) < capacity.size() && Most(held) > 0) {
      orders[Index(held.end)].rises = false;
    }
  }
  return orders;
}

/// For each step the one that stays and implies it, itself or beside it; -1: it cannot exceed its
/// capacity.
std::vector<int> ImplyingSteps(const std::vector<Held>& all, const std::vector<int64_t>& capacity) {
  const int steps = static_cast<int>(capacity.size());
  const std::vector<int64_t> most = SumBySteps(all, steps, Most);
  const std::vector<Order> orders = CompareNeighbours(all, capacity);
  std::vector<int> implying(capacity.size());
  for (int t = steps; t-- > 0;) {
    const bool next_implies = t + 1 < steps && orders[Index(t + 1)].rises;
    implying[Index(t)] = most[Index(t)] <= capacity[Index(t)] ? -1
                         : next_implies                       ? implying[Index(t + 1)]
                                                              : t;
  }
  for (int t = 1; t < steps; ++t) {
    // Of equal steps the last one stays, and has been given above.
    const Order& order = orders[Index(t)];
    if (implying[Index(t)] == t && order.falls && !order.rises) {
      implying[Index(t)] = implying[Index(t - 1)];
    }
  }
  return implying;
}

}  // namespace

std::vector<Held> Flatten(const std::vector<Held>& held, int variable, int domain) {
  std::map<int, std::vector<int64_t>> changes;  // by step
  for (const Held& one : held) {
    std::vector<int64_t>& from = changes.try_emplace(one.begin, domain, 0).first->second;
    std::vector<int64_t>& to = changes.try_emplace(one.end, domain, 0).first->second;
    for (size_t x = 0; x < one.bytes.size(); ++x) {
      from[x] += one.bytes[x];
      to[x] -= one.bytes[x];
    }
  }
  std::vector<Held> flat;
  std::vector<int64_t> now(Index(domain), 0);
  int begin = 0;
  for (const auto& [step, change] : changes) {
    const bool holds =
        std::any_of(now.begin(), now.end(), [](int64_t bytes) { return bytes != 0; });
    if (holds) flat.push_back({variable, begin, step, now});
    for (size_t x = 0; x < now.size(); ++x) now[x] += change[x];
    begin = step;
  }
  return flat;
}

FittingValues FindFitting(const LimitedNetwork& problem) {
  FittingValues fitting;
  for (const auto& costs : problem.network.unary) fitting.flags.emplace_back(costs.size(), 1);
  if (problem.capacity.empty()) return fitting;
  const std::vector<Held> all = FlattenAll(problem);
  std::vector<int64_t> spare = SumBySteps(all, problem.steps(), Least);
  for (size_t t = 0; t < spare.size(); ++t) {
    spare[t] = problem.capacity[t] - spare[t];
    fitting.fits_at_all &= spare[t] >= 0;
  }
  const RangeMinimum least_spare(std::move(spare));
  for (const Held& held : all) {
    const int64_t room = least_spare.Of(held.begin, held.end) + Least(held);
    for (size_t x = 0; x < held.bytes.size(); ++x) {
      if (held.bytes[x] > room) fitting.flags[Index(held.variable)][x] = 0;
    }
  }
  return fitting;
}

FewerSteps CompressSteps(const LimitedNetwork& problem) {
  std::vector<Held> all = FlattenAll(problem);
  std::vector<int64_t> capacity = problem.capacity;
  const std::vector<int64_t> least = SumBySteps(all, problem.steps(), Least);
  for (size_t t = 0; t < capacity.size(); ++t) capacity[t] -= least[t];
  for (Held& held : all) {
    const int64_t least_bytes = Least(held);
    for (int64_t& bytes : held.bytes) bytes -= least_bytes;
  }
  const std::vector<int> implying = ImplyingSteps(all, capacity);
  std::vector<int> kept;
  std::vector<int> number(implying.size(), -1);
  for (size_t t = 0; t < implying.size(); ++t) {
    if (implying[t] != static_cast<int>(t)) continue;
    number[t] = static_cast<int>(kept.size());
    kept.push_back(static_cast<int>(t));
  }
  FewerSteps result;
  result.problem = OnlySteps({problem.network, std::move(all), std::move(capacity)}, kept);
  for (const int step : implying) {
    result.new_step.push_back(step < 0 ? -1 : number[Index(step)]);
  }
  return result;
}

std::vector<int> WorstSteps(const LimitedNetwork& problem, const Assignment& values, size_t most) {
  const std::vector<int64_t> load = Load(problem, values);
  std::vector<std::pair<int64_t, int>> peaks;  // excess and step, of each overloaded range
  bool inside = false;
  for (size_t t = 0; t < load.size(); ++t) {
    const int64_t excess = load[t] - problem.capacity[t];
    if (excess > 0 && !inside) peaks.emplace_back(0, 0);
    inside = excess > 0;
    if (inside && excess > peaks.back().first) peaks.back() = {excess, static_cast<int>(t)};
  }
  std::sort(peaks.rbegin(), peaks.rend());
  std::vector<int> steps;
  for (size_t i = 0; i < std::min(peaks.size(), most); ++i) steps.push_back(peaks[i].second);
  return steps;
}

LimitedNetwork OnlySteps(const LimitedNetwork& problem, const std::vector<int>& steps) {
  LimitedNetwork result;
  result.network = problem.network;
  for (const int step : steps) result.capacity.push_back(problem.capacity[Index(step)]);
  const auto number = [&](int step) {
    return static_cast<int>(std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
  };
  for (const Held& held : problem.held) {
    const int begin = number(held.begin);
    const int end = number(held.end);
    if (begin < end && Most(held) > 0) {
      result.held.push_back({held.variable, begin, end, held.bytes});
    }
  }
  return result;
}

}  // namespace fettle::solver
