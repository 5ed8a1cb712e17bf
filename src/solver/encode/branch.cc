#include "solver/encode/branch.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "solver/problem/brute.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/live_bytes.h"

namespace fettle::solver {
namespace {

/// Rounds of raising prices where branching starts, and after each branch.
constexpr int kFirstRounds = 40;
constexpr int kRounds = 8;

bool IsAtLeast(Cost bound, Cost cost) { return bound >= cost - 1e-9 * (1 + std::abs(cost)); }

/// Part of all solutions: those among `kept`.
struct Part {
  Kept kept;
  Prices prices;
  Cost bound = 0;
  Solution relaxed;  // cheapest at the prices that gave the bound
  bool operator<(const Part& other) const { return bound > other.bound; }  // least bound on top
};

class Branching {
 public:
  Branching(const Problem& problem, const PricedSolve& solve, const BranchLimits& limits)
      : problem_(problem), solve_(solve), limits_(limits) {}

  Result<Solution> Run(const Kept& kept) {
    Part all{kept, limits_.prices, limits_.bound, {}};
    if (limits_.known.cost < kForbidden) Offer(limits_.known);
    if (problem_.memory_limit >= 0) {
      all.prices.bytes.assign(problem_.nodes, 0);
    }
    RETURN_IF_ERROR(Relax(all, kFirstRounds));
    Push(std::move(all));
    while (!open_.empty() && !IsAtLeast(open_.top().bound, best_.cost) && !IsOver()) {
      const Part part = open_.top();
      open_.pop();
      for (Part& smaller : Split(part)) {
        if (Relax(smaller, kRounds).ok()) Push(std::move(smaller));
      }
    }
    if (best_.cost == kForbidden) {
      if (open_.empty()) return Unsupported("no cover keeps the limits");
      return Unsupported("no cover that keeps the limits was found in time");
    }
    best_.bound = open_.empty() ? best_.cost : std::min(best_.cost, open_.top().bound);
    if (IsAtLeast(best_.bound, best_.cost)) best_.bound = best_.cost;
    return best_;
  }

 private:
  bool IsOver() const { return solves_ >= limits_.solves || limits_.deadline.Passed(); }

  void Push(Part part) {
    if (!IsAtLeast(part.bound, best_.cost)) open_.push(std::move(part));
  }

  void Offer(const Solution& solution) {
    if (solution.cost >= best_.cost || !CheckLimits(problem_, solution).ok()) return;
    if (PicksOnCycle(problem_, solution.picks).empty()) best_ = solution;
  }

  /// Raises the prices of `part` and with them its bound. Fails where nothing is left in it.
  Status Relax(Part& part, int rounds) {
    Prices prices = part.prices;
    const Cost inherited = part.bound;
    part.bound = -kForbidden;
    for (int round = 0; round < rounds; ++round) {
      ++solves_;
      ASSIGN_OR_RETURN(Solution solution, solve_(part.kept, prices));
      const Cost bound = solution.bound - PriceOfLimits(prices);
      Offer(solution);
      const bool is_better = bound > part.bound;
      if (is_better) {
        part.bound = bound;
        part.prices = prices;
        part.relaxed = solution;
      }
      if (IsAtLeast(part.bound, best_.cost) || !HasLimits() || IsOver()) break;
      if (!Reprice(solution, bound, round, prices)) break;
    }
    part.bound = std::max(part.bound, inherited);
    return OkStatus();
  }

  bool HasLimits() const { return problem_.error_budget >= 0 || problem_.memory_limit >= 0; }

  Cost PriceOfLimits(const Prices& prices) const {
    Cost cost = problem_.error_budget >= 0 ? prices.error * problem_.error_budget : 0;
    for (const double price : prices.bytes) {
      cost += price * static_cast<double>(problem_.memory_limit);
    }
    return cost;
  }

  /// A step along the subgradient (how far each limit is broken), as long as what lies between the
  /// bound and the best solution known suggests (Polyak). False where no limit pulls.
  bool Reprice(const Solution& solution, Cost bound, int round, Prices& prices) const {
    const double error_pull =
        problem_.error_budget >= 0 ? solution.error - problem_.error_budget : 0;
    const bool error_counts = error_pull > 0 || prices.error > 0;
    std::vector<double> pulls;
    double square = error_counts ? error_pull * error_pull : 0;
    if (problem_.memory_limit >= 0) {
      const std::vector<int64_t> live = LiveBytes(problem_, solution);
      for (size_t node = 0; node < live.size(); ++node) {
        const auto pull = static_cast<double>(live[node] - problem_.memory_limit);
        pulls.push_back(pull > 0 || prices.bytes[node] > 0 ? pull : 0);
        square += pulls.back() * pulls.back();
      }
    }
    if (square == 0) return false;
    const Cost aim = best_.cost < kForbidden ? best_.cost : bound + 0.2 * std::abs(bound) + 1;
    const double step = (aim - bound) / square * (best_.cost < kForbidden ? 1 : 1 + round / 4);
    if (step <= 0) return false;
    if (error_counts) prices.error = std::max(0.0, prices.error + step * error_pull);
    for (size_t node = 0; node < pulls.size(); ++node) {
      prices.bytes[node] = std::max(0.0, prices.bytes[node] + step * pulls[node]);
    }
    return true;
  }

  std::vector<Part> Split(const Part& part) {
    const std::vector<int> cycle = PicksOnCycle(problem_, part.relaxed.picks);
    if (!cycle.empty()) return SplitCycle(part, cycle);
    const int at = PickToSplit(part);
    if (at < 0) {  // only conversions are open
      const Result<Solution> solution = ConvertByBruteForce(problem_, part.relaxed.picks);
      if (solution.ok() && solution->cost < best_.cost) best_ = *solution;
      return {};
    }
    const Pick& pick = part.relaxed.picks[at];
    Part without = part, with = part;
    std::erase(without.kept[pick.group], pick.choice);
    for (size_t g = 0; g < with.kept.size(); ++g) {
      if (Overlap(static_cast<int>(g), pick.group)) with.kept[g].clear();
    }
    with.kept[pick.group] = {pick.choice};
    return {std::move(with), std::move(without)};
  }

  static std::vector<Part> SplitCycle(const Part& part, const std::vector<int>& cycle) {
    std::vector<Part> parts;
    for (const int pick : cycle) {
      parts.push_back(part);
      const int group = part.relaxed.picks[pick].group;
      parts.back().kept[group].clear();
    }
    return parts;
  }

  bool Overlap(int a, int b) const {
    const std::vector<int>& nodes = problem_.groups[b].nodes;
    return std::any_of(
        problem_.groups[a].nodes.begin(), problem_.groups[a].nodes.end(),
        [&](int node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); });
  }

  /// The pick that weighs most in error and in bytes at the worst node, of those that can be had
  /// another way; -1: none can.
  int PickToSplit(const Part& part) const {
    int worst_node = -1;
    if (problem_.memory_limit >= 0) {
      const std::vector<int64_t> live = LiveBytes(problem_, part.relaxed);
      worst_node = static_cast<int>(std::max_element(live.begin(), live.end()) - live.begin());
    }
    int best = -1;
    double best_weight = -1;
    for (size_t p = 0; p < part.relaxed.picks.size(); ++p) {
      const Pick& pick = part.relaxed.picks[p];
      if (!HasOtherWay(part.kept, pick)) continue;
      const double weight = Weight(pick, worst_node);
      if (weight <= best_weight) continue;
      best_weight = weight;
      best = static_cast<int>(p);
    }
    return best;
  }

  bool HasOtherWay(const Kept& kept, const Pick& pick) const {
    if (kept[pick.group].size() > 1) return true;
    for (size_t g = 0; g < kept.size(); ++g) {
      if (static_cast<int>(g) == pick.group || kept[g].empty()) continue;
      if (Overlap(static_cast<int>(g), pick.group)) return true;
    }
    return false;
  }

  double Weight(const Pick& pick, int worst_node) const {
    const Group& group = problem_.groups[pick.group];
    const Choice& choice = group.choices[pick.choice];
    double weight = problem_.error_budget > 0 ? choice.error / problem_.error_budget : choice.error;
    if (worst_node < 0) return weight;
    double bytes = static_cast<double>(choice.workspace);
    const auto add = [&](int tensor, int state) {
      const std::vector<int64_t>& sizes = problem_.tensors[tensor].bytes;
      if (!sizes.empty()) bytes += static_cast<double>(sizes[state]);
    };
    for (size_t i = 0; i < group.inputs.size(); ++i) add(group.inputs[i], choice.inputs[i]);
    for (size_t i = 0; i < group.outputs.size(); ++i) add(group.outputs[i], choice.outputs[i]);
    const int distance = std::abs(StepOf(group) - worst_node);
    return weight + bytes / static_cast<double>(problem_.memory_limit + 1) / (1 + distance);
  }

  const Problem& problem_;
  const PricedSolve& solve_;
  BranchLimits limits_;
  std::priority_queue<Part> open_;
  Solution best_{{}, {}, kForbidden, 0, 0};
  int solves_ = 0;
};

}  // namespace

Result<Solution> SolveByBranching(const Problem& problem, const Kept& kept,
                                  const PricedSolve& solve, const BranchLimits& limits) {
  return Branching(problem, solve, limits).Run(kept);
}

}  // namespace fettle::solver
