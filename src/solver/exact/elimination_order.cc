#include "solver/exact/elimination_order.h"

#include <algorithm>
#include <queue>
#include <random>
#include <tuple>

namespace fettle::solver {
namespace {

/// Orders with no larger table are good enough at the first try.
constexpr double kSmallElimination = 1 << 14;
constexpr int kMoreTries = 6;

/// Eliminates variables of a graph of neighbours, greedily.
class EliminationSearch {
 public:
  explicit EliminationSearch(const Network& network)
      : network_(network), neighbours_(network.unary.size()), version_(network.unary.size(), 0) {
    for (const Factor& factor : network.factors) {
      for (const int v : factor.scope) Connect(v, factor.scope);
    }
  }

  /// `seed` 0 takes the smallest table, others blur sizes a little.
  EliminationOrder Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto push = [&](int v) {
      double size = TableEntries(network_, NeighboursOf(v));
      if (seed != 0) size *= 1 + static_cast<double>(random() % 1024) / 1024;
      queue_.push({size, size * network_.domain(v), v, version_[v]});
    };
    for (int v = 0; v < network_.variables(); ++v) push(v);
    EliminationOrder order;
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (next.version != version_[next.variable]) continue;
      for (const int changed : Take(next.variable, order)) push(changed);
    }
    return order;
  }

 private:
  struct Candidate {
    double size;
    double sums;
    int variable;
    int version;
    bool operator<(const Candidate& other) const {  // the queue gives the greatest first
      return std::tie(size, sums, variable) > std::tie(other.size, other.sums, other.variable);
    }
  };

  std::vector<int>& NeighboursOf(int v) { return neighbours_[v]; }

  void Connect(int v, const std::vector<int>& scope) {
    std::vector<int>& mine = NeighboursOf(v);
    joined_.clear();
    std::set_union(mine.begin(), mine.end(), scope.begin(), scope.end(),
                   std::back_inserter(joined_));
    joined_.erase(std::lower_bound(joined_.begin(), joined_.end(), v));
    mine.swap(joined_);
  }

  /// Returns the variables whose neighbours changed.
  std::vector<int> Take(int v, EliminationOrder& order) {
    const std::vector<int> scope = std::move(NeighboursOf(v));
    const double entries = TableEntries(network_, scope);
    order.variables.push_back(v);
    order.widths.push_back(static_cast<int>(scope.size()));
    order.tables.push_back(entries);
    order.width = std::max(order.width, static_cast<int>(scope.size()));
    order.largest = std::max(order.largest, entries);
    order.entries += entries;
    order.sums += entries * network_.domain(v);
    ++version_[v];
    for (const int u : scope) {
      std::vector<int>& theirs = NeighboursOf(u);
      theirs.erase(std::lower_bound(theirs.begin(), theirs.end(), v));
      if (scope.size() > 1) Connect(u, scope);
      ++version_[u];
    }
    return scope;
  }

  const Network& network_;
  std::vector<std::vector<int>> neighbours_;  // ascending
  std::vector<int> version_;
  std::vector<int> joined_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

double EliminationOrder::Bytes() const {
  // Best values stay to the end; of the costs a few tables live at a time.
  return entries * sizeof(uint16_t) + 4 * largest * sizeof(Cost);
}

EliminationOrder FindOrder(const Network& network) {
  EliminationOrder best = EliminationSearch(network).Run(0);
  if (best.largest <= kSmallElimination) return best;
  for (int seed = 1; seed <= kMoreTries; ++seed) {
    EliminationOrder order = EliminationSearch(network).Run(static_cast<uint64_t>(seed));
    if (order.sums < best.sums) best = std::move(order);
  }
  return best;
}

}  // namespace fettle::solver
