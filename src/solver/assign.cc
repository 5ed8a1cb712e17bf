#include "solver/assign.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "solver/bounded/bounded.h"
#include "solver/bounded/dual_bound.h"
#include "solver/exact/eliminate.h"
#include "solver/exact/pbqp.h"
#include "solver/exact/sweep.h"
#include "solver/network/simplify.h"

namespace fettle::solver {
namespace {

/// Elimination that takes no more sums than this is not worth a second thought; up to the second
/// figure it is still swift.
constexpr double kQuickSums = 1 << 20;
constexpr double kSwiftSums = 1 << 23;
/// Tables up to this size are eliminated whatever the method: what is left is the hard core.
constexpr double kCoreTable = 1 << 10;
/// The sweep is tried for as long as so many sums of elimination would take for each of its steps,
/// and gives up after so many steps.
constexpr double kSumsPerStep = 200;
constexpr double kMostSteps = 1e5;
constexpr int64_t kBytesPerState = 256;
/// Passes of messages over the hard core, and how many to make before looking for an assignment.
constexpr int kPasses = 100;
constexpr int kPassesPerRound = 5;
/// As many states as MegEngine's sweep keeps.
constexpr int64_t kBeam = 1024;

/// No assignment costs less than the least entries of all tables together.
Cost SumOfMinima(const Network& network) {
  Cost sum = network.constant;
  for (const std::vector<Cost>& unary : network.unary) {
    sum += *std::min_element(unary.begin(), unary.end());
  }
  for (const Factor& factor : network.factors) {
    sum += *std::min_element(factor.table.begin(), factor.table.end());
  }
  return sum;
}

Cost Slack(Cost cost) { return 1e-9 * (1 + std::abs(cost)); }

bool IsClosed(Cost bound, Cost cost) { return cost < kForbidden && bound >= cost - Slack(cost); }

size_t LargestTable(const Network& network) {
  size_t largest = 0;
  for (const Factor& factor : network.factors) largest = std::max(largest, factor.table.size());
  return largest;
}

/// Simplify compares values pair by pair: about what that takes, in sums of elimination.
double SumsToSimplify(const Network& network) {
  double sums = 0;
  for (const Factor& factor : network.factors) {
    int domain = 0;
    for (const int v : factor.scope) domain = std::max(domain, network.domain(v));
    sums += static_cast<double>(factor.table.size()) * domain;
  }
  return sums;
}

class Assigner {
 public:
  Assigner(const Network& network, EliminationOrder order, const Options& options, int64_t until_ns,
           Report& report)
      : network_(network),
        order_(std::move(order)),
        options_(options),
        until_ns_(until_ns),
        report_(report),
        elimination_(network) {}

  Result<Assigned> Run() {
    if (options_.method == "pbqp") return Heuristic("pbqp", ReduceAndGuess(network_));
    const bool fits = Fits(order_);
    const bool is_auto = options_.method == "auto";
    if (options_.method == "ve" || (is_auto && fits && order_.sums <= kQuickSums)) {
      if (!fits) return Unsupported("tables of {} entries are too large", order_.largest);
      return FinishElimination();
    }
    EliminateToCore();
    const Network core = elimination_.Rest();
    if (options_.method == "capped") return SweepBeam(core);
    SweepLimits limits;
    limits.most_states = options_.table_bytes / kBytesPerState;
    if (is_auto) limits.most_steps = std::min(order_.sums / kSumsPerStep, kMostSteps);
    const std::optional<Swept> swept = Sweep(core, limits);
    if (swept) {
      Note("sweep", swept->peak_states);
      return Exactly(swept->cost, swept->values);
    }
    if (options_.method == "sweep") return Unsupported("the sweep has too many states");
    if (fits && order_.sums <= std::max(kSwiftSums, SumsToSimplify(core))) {
      return FinishElimination();
    }
    return AssignWithinBounds(core);
  }

 private:
  void Note(std::string_view method, int64_t largest_table) {
    if (report_.largest_table > largest_table) return;
    report_.method = method;
    report_.width = order_.width;
    report_.largest_table = largest_table;
  }

  /// `values` of what is not eliminated yet are the best.
  Assigned Exactly(Cost cost, const Assignment& values) const {
    if (cost == kForbidden) return {};
    return {elimination_.Extend(values), cost, cost};
  }

  Result<Assigned> Heuristic(std::string_view method, const Assignment& values) {
    Note(method, 0);
    if (values.empty()) return Assigned{{}, kForbidden, SumOfMinima(network_)};
    return Assigned{values, Sum(network_, values), SumOfMinima(network_)};
  }

  Result<Assigned> FinishElimination() {
    for (; taken_ < order_.variables.size(); ++taken_) elimination_.Take(order_.variables[taken_]);
    Note("ve", static_cast<int64_t>(order_.largest));
    return Exactly(elimination_.Rest().constant, {});
  }

  void EliminateToCore() {
    while (taken_ < order_.variables.size() && order_.tables[taken_] <= kCoreTable) {
      elimination_.Take(order_.variables[taken_++]);
    }
  }

  bool Fits(const EliminationOrder& order) const {
    return order.Bytes() <= static_cast<double>(options_.table_bytes);
  }

  double SecondsLeft() const {
    return std::max(0.0, static_cast<double>(until_ns_ - NowNs()) * 1e-9);
  }

  struct Known {
    Assignment values;
    Cost cost = kForbidden;
  };
  /// Passes until the bound is closed or there were enough; returns the best assignment rounded to.
  static Known RaiseBound(const Network& network, DualBound& dual) {
    Known known;
    for (int pass = 1; pass <= kPasses && !IsClosed(dual.bound(), known.cost); ++pass) {
      dual.Pass();
      if (pass % kPassesPerRound != 0) continue;
      std::optional<Assignment> rounded = dual.Round();
      if (!rounded) continue;
      const Cost cost = Sum(network, *rounded);
      if (cost < known.cost) known = {std::move(*rounded), cost};
    }
    return known;
  }

  static void ForbidAbove(Cost most, const std::vector<std::vector<Cost>>& bounds,
                          Network& network) {
    for (size_t v = 0; v < bounds.size(); ++v) {
      for (size_t x = 0; x < bounds[v].size(); ++x) {
        if (bounds[v][x] > most) network.unary[v][x] = kForbidden;
      }
    }
  }

  /// Without the values that no assignment better than a known one takes, little is left.
  Result<Assigned> AssignWithinBounds(const Network& core) {
    const Simplified simple = Simplify({core, {}, {}});
    if (!simple.feasible) return Assigned{};
    LimitedNetwork bounded = simple.problem;
    DualBound dual(bounded);
    const auto [known, known_cost] = RaiseBound(bounded.network, dual);
    const auto finish = [&](const Assignment& values, Cost cost, Cost bound) -> Assigned {
      if (cost == kForbidden) return {{}, kForbidden, bound};
      return {elimination_.Extend(simple.Restore(values)), cost, bound};
    };
    if (IsClosed(dual.bound(), known_cost)) {
      Note("bounds", static_cast<int64_t>(LargestTable(bounded.network)));
      return finish(known, known_cost, known_cost);
    }
    ForbidAbove(known_cost + Slack(known_cost), dual.BoundsByValue(), bounded.network);
    const Simplified rest = Simplify(bounded);
    if (!rest.feasible) return finish(known, known_cost, known_cost);
    const EliminationOrder order = FindOrder(rest.problem.network);
    if (!Fits(order)) {
      Note("branch", static_cast<int64_t>(LargestTable(rest.problem.network)));
      const Result<Bounded> found = SolveBounded(
          rest.problem,
          {.seconds = SecondsLeft(), .cancelled = options_.cancelled, .seed = options_.seed});
      if (!found.ok()) return finish(known, known_cost, known_cost);
      const Cost bound = std::max(dual.bound(), found->bound);
      if (found->values.empty() || found->cost >= known_cost)
        return finish(known, known_cost, std::min(bound, known_cost));
      return finish(rest.Restore(found->values), found->cost, std::min(bound, found->cost));
    }
    const Eliminated best = Eliminate(rest.problem.network, order);
    order_.width = order.width;
    Note("ve", static_cast<int64_t>(order.largest));
    if (best.cost >= known_cost) return finish(known, known_cost, known_cost);
    return finish(rest.Restore(best.values), best.cost, best.cost);
  }

  Result<Assigned> SweepBeam(const Network& core) {
    const std::optional<Swept> swept = Sweep(core, {kBeam, true});
    Note("capped", swept->peak_states);
    if (swept->is_exact) return Exactly(swept->cost, swept->values);
    const Cost bound = SumOfMinima(core);
    if (swept->cost == kForbidden) return Assigned{{}, kForbidden, bound};
    return Assigned{elimination_.Extend(swept->values), swept->cost, bound};
  }

  const Network& network_;
  EliminationOrder order_;
  const Options& options_;
  int64_t until_ns_;
  Report& report_;
  Elimination elimination_;
  size_t taken_ = 0;  // of order_.variables
};

}  // namespace

Result<Assigned> Assign(const Network& network, EliminationOrder order, const Options& options,
                        int64_t until_ns, Report& report) {
  return Assigner(network, std::move(order), options, until_ns, report).Run();
}

}  // namespace fettle::solver
