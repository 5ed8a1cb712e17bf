#include "solver/eliminate.h"

#include <algorithm>
#include <queue>
#include <random>

#include "solver/factors.h"

namespace fettle::solver {
namespace {

/// Choices of values are kept in 16 bits.
constexpr int kMostValues = 1 << 16;
/// Orders with no larger table are good enough at the first try.
constexpr double kSmallTable = 1 << 14;
constexpr int kMoreTries = 6;

/// Eliminates variables of a graph of neighbours, greedily.
class OrderSearch {
 public:
  explicit OrderSearch(const Network& network)
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
      queue_.push({size, size * network_.domain(v), v, version_[static_cast<size_t>(v)]});
    };
    for (int v = 0; v < network_.variables(); ++v) push(v);
    EliminationOrder order;
    while (!queue_.empty()) {
      const Candidate next = queue_.top();
      queue_.pop();
      if (next.version != version_[static_cast<size_t>(next.variable)]) continue;
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

  std::vector<int>& NeighboursOf(int v) { return neighbours_[static_cast<size_t>(v)]; }

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
    ++version_[static_cast<size_t>(v)];
    for (const int u : scope) {
      std::vector<int>& theirs = NeighboursOf(u);
      theirs.erase(std::lower_bound(theirs.begin(), theirs.end(), v));
      if (scope.size() > 1) Connect(u, scope);
      ++version_[static_cast<size_t>(u)];
    }
    return scope;
  }

  const Network& network_;
  std::vector<std::vector<int>> neighbours_;  // ascending
  std::vector<int> version_;
  std::vector<int> joined_;
  std::priority_queue<Candidate> queue_;
};

/// A table as a summand of a larger one.
struct Summand {
  const Cost* table;
  size_t by_value;               // step per value of the eliminated variable
  std::vector<size_t> by_scope;  // step per value of each variable of the result
};

/// Minimum over one variable of a sum of tables.
class Minimum {
 public:
  Minimum(const Network& network, int variable, std::vector<int> scope,
          const std::vector<const Factor*>& factors)
      : network_(network), variable_(variable), scope_(std::move(scope)) {
    for (const Factor* factor : factors) AddSummand(*factor);
  }

  /// Fills `result` and, for each of its entries, the best value.
  void Run(std::vector<Cost>& result, std::vector<uint16_t>& best) {
    const auto entries = static_cast<size_t>(TableEntries(network_, scope_));
    const size_t inner = scope_.empty() ? 1 : static_cast<size_t>(network_.domain(scope_.back()));
    result.assign(entries, kForbidden);
    best.assign(entries, 0);
    at_.assign(scope_.size(), 0);
    offsets_.assign(summands_.size(), 0);
    row_.resize(inner);
    for (size_t start = 0; start < entries; start += inner) {
      RunRow(inner, &result[start], &best[start]);
      Advance();
    }
  }

 private:
  void AddSummand(const Factor& factor) {
    Summand summand{factor.table.data(), 0, std::vector<size_t>(scope_.size(), 0)};
    size_t step = 1;
    for (size_t i = factor.scope.size(); i-- > 0;) {
      const int v = factor.scope[i];
      if (v == variable_) {
        summand.by_value = step;
      } else {
        const auto at = std::lower_bound(scope_.begin(), scope_.end(), v) - scope_.begin();
        summand.by_scope[static_cast<size_t>(at)] = step;
      }
      step *= static_cast<size_t>(network_.domain(v));
    }
    summands_.push_back(std::move(summand));
  }

  /// One row of the result: all values of its last variable.
  void RunRow(size_t inner, Cost* result, uint16_t* best) {
    const std::vector<Cost>& unary = network_.unary[static_cast<size_t>(variable_)];
    for (size_t x = 0; x < unary.size(); ++x) {
      std::fill(row_.begin(), row_.end(), unary[x]);
      for (size_t s = 0; s < summands_.size(); ++s) {
        const Summand& summand = summands_[s];
        const Cost* from = summand.table + offsets_[s] + x * summand.by_value;
        const size_t step = scope_.empty() ? 0 : summand.by_scope.back();
        for (size_t y = 0; y < inner; ++y) row_[y] += from[y * step];
      }
      for (size_t y = 0; y < inner; ++y) {
        if (row_[y] < result[y]) {
          result[y] = row_[y];
          best[y] = static_cast<uint16_t>(x);
        }
      }
    }
  }

  /// The next combination of all variables of the result but the last.
  void Advance() {
    for (size_t i = scope_.size(); i-- > 1;) {
      const size_t position = i - 1;
      const auto domain = static_cast<size_t>(network_.domain(scope_[position]));
      for (size_t s = 0; s < summands_.size(); ++s) {
        offsets_[s] += summands_[s].by_scope[position];
      }
      if (++at_[position] < domain) return;
      for (size_t s = 0; s < summands_.size(); ++s) {
        offsets_[s] -= summands_[s].by_scope[position] * domain;
      }
      at_[position] = 0;
    }
  }

  const Network& network_;
  int variable_;
  std::vector<int> scope_;
  std::vector<Summand> summands_;
  std::vector<size_t> at_;       // values of the result's variables
  std::vector<size_t> offsets_;  // by summand
  std::vector<Cost> row_;
};

}  // namespace

double EliminationOrder::Bytes() const {
  // Best values stay to the end; of the costs a few tables live at a time.
  return entries * sizeof(uint16_t) + 4 * largest * sizeof(Cost);
}

EliminationOrder FindOrder(const Network& network) {
  EliminationOrder best = OrderSearch(network).Run(0);
  if (best.largest <= kSmallTable) return best;
  for (int seed = 1; seed <= kMoreTries; ++seed) {
    EliminationOrder order = OrderSearch(network).Run(static_cast<uint64_t>(seed));
    if (order.sums < best.sums) best = std::move(order);
  }
  return best;
}

Elimination::Elimination(const Network& network)
    : network_(network),
      factors_(network.factors),
      with_(FactorsByVariable(network)),
      taken_(network.unary.size(), false),
      constant_(network.constant) {}

void Elimination::Take(int variable) {
  const auto v = static_cast<size_t>(variable);
  FETTLE_CHECK(network_.domain(variable) <= kMostValues, "domains fit in 16 bits");
  std::erase_if(with_[v], [&](int f) { return factors_[static_cast<size_t>(f)].table.empty(); });
  std::vector<int> scope, joined;
  std::vector<const Factor*> factors;
  for (const int f : with_[v]) {
    const Factor& factor = factors_[static_cast<size_t>(f)];
    factors.push_back(&factor);
    joined.clear();
    std::set_union(scope.begin(), scope.end(), factor.scope.begin(), factor.scope.end(),
                   std::back_inserter(joined));
    scope.swap(joined);
  }
  std::erase(scope, variable);
  Factor message{scope, {}};
  Memory& memory = memories_.emplace_back(Memory{variable, scope, {}});
  Minimum(network_, variable, scope, factors).Run(message.table, memory.best);
  for (const int f : with_[v]) factors_[static_cast<size_t>(f)].table = {};
  taken_[v] = true;
  if (scope.empty()) {
    constant_ += message.table.front();
    return;
  }
  for (const int u : scope) {
    with_[static_cast<size_t>(u)].push_back(static_cast<int>(factors_.size()));
  }
  factors_.push_back(std::move(message));
}

std::vector<int> Elimination::RestVariables() const {
  std::vector<int> rest;
  for (int v = 0; v < network_.variables(); ++v) {
    if (!taken_[static_cast<size_t>(v)]) rest.push_back(v);
  }
  return rest;
}

Network Elimination::Rest() const {
  const std::vector<int> variables = RestVariables();
  const auto number_of = [&](int v) {
    return static_cast<int>(std::lower_bound(variables.begin(), variables.end(), v) -
                            variables.begin());
  };
  Network rest;
  rest.constant = constant_;
  for (const int v : variables) rest.unary.push_back(network_.unary[static_cast<size_t>(v)]);
  for (const Factor& factor : factors_) {
    if (factor.table.empty()) continue;
    if (factor.scope.size() == 1) {
      std::vector<Cost>& unary = rest.unary[static_cast<size_t>(number_of(factor.scope[0]))];
      for (size_t x = 0; x < unary.size(); ++x) unary[x] += factor.table[x];
      continue;
    }
    Factor& renamed = rest.factors.emplace_back(factor);
    for (int& v : renamed.scope) v = number_of(v);
  }
  MergeFactors(rest);
  return rest;
}

Assignment Elimination::Extend(const Assignment& rest) const {
  Assignment values(network_.unary.size(), 0);
  const std::vector<int> variables = RestVariables();
  for (size_t i = 0; i < variables.size(); ++i) {
    values[static_cast<size_t>(variables[i])] = rest[i];
  }
  for (size_t m = memories_.size(); m-- > 0;) {
    const Memory& memory = memories_[m];
    const size_t entry = EntryOf(network_, {memory.scope, {}}, values);
    values[static_cast<size_t>(memory.variable)] = memory.best[entry];
  }
  return values;
}

Eliminated Eliminate(const Network& network, const EliminationOrder& order) {
  Elimination elimination(network);
  for (const int v : order.variables) elimination.Take(v);
  return {elimination.Rest().constant, elimination.Extend({})};
}

}  // namespace fettle::solver
