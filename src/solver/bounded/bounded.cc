#include "solver/bounded/bounded.h"

#include <algorithm>
#include <queue>

#include "base/clock.h"
#include "solver/bounded/bounded_root.h"

namespace fettle::solver {
namespace {

/// The root's bound and local search take turns: a better assignment lets values be dropped.
constexpr int kTurns = 2;
/// Shares of the time that these take.
constexpr double kRaiseShare = 0.15;
constexpr double kSearchShare = 0.2;
constexpr int kNodePasses = 24;
constexpr int kPassesPerRounding = 8;

/// Values of a variable that are not allowed.
struct Ban {
  int variable = 0;
  std::vector<int> values;
};

/// A subproblem: the root's with some values banned.
struct Node {
  Cost bound = 0;
  std::vector<Ban> bans;
  int64_t number = 0;                        // newest first among equal bounds
  bool operator<(const Node& other) const {  // the queue gives the greatest first
    return bound != other.bound ? bound > other.bound : number < other.number;
  }
};

/// The least and the second least entry.
std::pair<Cost, Cost> TwoLeast(const std::vector<Cost>& costs) {
  Cost least = kForbidden;
  Cost second = kForbidden;
  for (const Cost cost : costs) {
    second = std::min(second, std::max(least, cost));
    least = std::min(least, cost);
  }
  return {least, second};
}

/// Best first: the least bound of open subproblems is a bound of the whole.
class BranchAndBound {
 public:
  BranchAndBound(BoundedRoot& root, const Incumbent& incumbent)
      : root_(root), incumbent_(incumbent) {}

  /// Returns the bound.
  Cost Run(int64_t most_nodes, const Deadline& deadline) {
    std::priority_queue<Node> open;
    open.push({root_.bound(), {}, 0});
    while (!open.empty() && !incumbent_.Beats(open.top().bound)) {
      if (deadline.Passed() || nodes_ >= most_nodes) return open.top().bound;
      const Node node = open.top();
      open.pop();
      ++nodes_;
      for (Node& child : Expand(node)) {
        child.number = ++numbers_;
        if (!incumbent_.Beats(child.bound)) open.push(std::move(child));
      }
    }
    return incumbent_.cost;
  }

  int64_t nodes() const { return nodes_; }

 private:
  std::vector<Node> Expand(const Node& node) {
    LimitedNetwork problem = root_.relaxed();
    for (const Ban& ban : node.bans) {
      std::vector<Cost>& costs = problem.network.unary[Index(ban.variable)];
      for (const int x : ban.values) costs[Index(x)] = kForbidden;
    }
    const std::vector<double> root_prices = root_.prices();  // of the same steps as `problem`
    const Simplified simplified = Simplify(problem);
    if (!simplified.feasible) return {};
    if (simplified.problem.network.variables() == 0) {
      // An assignment that does not fit at another step says nothing about others of the node.
      return root_.Offer(simplified.Restore({})) ? std::vector<Node>{} : std::vector<Node>{node};
    }
    std::vector<double> prices(simplified.problem.capacity.size(), 0);
    for (size_t t = 0; t < root_prices.size(); ++t) {
      const int step = simplified.new_step[t];
      if (step >= 0) prices[Index(step)] += root_prices[t];
    }
    DualBound dual(simplified.problem);
    dual.SetPrices(std::move(prices));
    const Cost bound = std::max(node.bound, Raise(dual, simplified));
    if (incumbent_.Beats(bound)) return {};
    return Split(node, bound, dual.BoundsByValue(), simplified);
  }

  Cost Raise(DualBound& dual, const Simplified& simplified) {
    Cost highest = -kForbidden;
    for (int pass = 1; pass <= kNodePasses && !incumbent_.Beats(highest); ++pass) {
      dual.Pass();
      highest = std::max(highest, RoundedDown(dual.bound()));
      if (pass % kPassesPerRounding != 0) continue;
      if (const auto values = dual.Round()) (void)root_.Offer(simplified.Restore(*values));
      dual.StepPrices(0.1 * root_.Gap());
    }
    return highest;
  }

  /// The variable whose second value costs most: on its cheapest value, and on all others.
  std::vector<Node> Split(const Node& node, Cost bound,
                          const std::vector<std::vector<Cost>>& bounds,
                          const Simplified& simplified) {
    size_t variable = 0;
    for (size_t v = 1; v < bounds.size(); ++v) {
      if (TwoLeast(bounds[v]).second > TwoLeast(bounds[variable]).second) variable = v;
    }
    const auto [least, second] = TwoLeast(bounds[variable]);
    const size_t cheapest = std::find(bounds[variable].begin(), bounds[variable].end(), least) -
                            bounds[variable].begin();
    Ban cheapest_only{simplified.variable_of[variable], {}};
    Ban others_only = cheapest_only;
    for (size_t x = 0; x < bounds[variable].size(); ++x) {
      Ban& ban = x == cheapest ? others_only : cheapest_only;
      ban.values.push_back(simplified.value_of[variable][x]);
    }
    std::vector<Node> children(2, node);
    children[0].bound = bound;
    children[0].bans.push_back(std::move(cheapest_only));
    children[1].bound = std::max(bound, RoundedDown(second));
    children[1].bans.push_back(std::move(others_only));
    return children;
  }

  BoundedRoot& root_;
  const Incumbent& incumbent_;
  int64_t nodes_ = 0;
  int64_t numbers_ = 0;
};

}  // namespace

Result<Bounded> SolveBounded(const LimitedNetwork& problem, const BoundedOptions& options) {
  RETURN_IF_ERROR(Validate(problem));
  const int64_t start_ns = NowNs();
  const auto after = [&](double share) {
    const auto ns = static_cast<int64_t>(std::min(share * options.seconds, 1e9) * 1e9);
    return Deadline{start_ns + ns, options.cancelled};
  };
  Incumbent incumbent;
  BoundedRoot root(problem, incumbent);
  Bounded result;
  result.variables_left = root.relaxed().network.variables();
  double share = 0;
  for (int turn = 0; turn < kTurns && !root.solved(); ++turn) {
    root.Raise(options.root_passes / kTurns, after(share += kRaiseShare));
    root.SearchLocally(options.seed + static_cast<uint64_t>(turn) * 1000,
                       after(share += kSearchShare));
  }
  result.bound = root.bound();
  if (!root.solved()) {
    BranchAndBound branching(root, incumbent);
    result.bound = branching.Run(options.nodes, after(1));
    result.nodes = branching.nodes();
  }
  if (incumbent.values.empty() && result.bound == kForbidden) {
    return Unsupported("no assignment keeps the limits");
  }
  result.values = std::move(incumbent.values);
  result.cost = incumbent.cost;
  result.bound = std::min(result.bound, result.cost);
  return result;
}

}  // namespace fettle::solver
