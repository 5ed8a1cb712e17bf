#include "solver/eliminate.h"

#include <algorithm>
#include <list>
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

/// Entries of a result that are worked on at once, at least, where there are as many.
constexpr size_t kBlock = 64;

/// A table as a summand of a larger one.
struct Summand {
  const Cost* table;
  size_t by_value;               // step per value of the eliminated variable
  std::vector<size_t> by_scope;  // step per value of each variable of the result
  std::vector<uint32_t> block;   // by entry of a block: where it is; empty: all at the same place
};

/// Sums of tables that are much smaller than what they are going to be used for.
class SmallSums {
 public:
  SmallSums(const Network& network, std::vector<const Factor*>& factors, double entries)
      : network_(network) {
    while (factors.size() > 2) {
      const auto by_size = [](const Factor* a, const Factor* b) {
        return a->table.size() > b->table.size();
      };
      std::sort(factors.begin(), factors.end(), by_size);
      std::vector<int> scope;
      const Factor& a = *factors[factors.size() - 1];
      const Factor& b = *factors[factors.size() - 2];
      std::set_union(a.scope.begin(), a.scope.end(), b.scope.begin(), b.scope.end(),
                     std::back_inserter(scope));
      if (TableEntries(network, scope) * kWorthwhile > entries) return;
      factors.resize(factors.size() - 2);
      factors.push_back(&Join(a, b, std::move(scope)));
    }
  }

 private:
  static constexpr double kWorthwhile = 16;

  const Factor& Join(const Factor& a, const Factor& b, std::vector<int> scope) {
    Factor& sum = sums_.emplace_back(Factor{std::move(scope), {}});
    sum.table.assign(static_cast<size_t>(TableEntries(network_, sum.scope)), 0);
    Add(a, sum);
    Add(b, sum);
    return sum;
  }

  void Add(const Factor& factor, Factor& sum) const {
    std::vector<size_t> steps(sum.scope.size(), 0);
    size_t step = 1;
    for (size_t i = factor.scope.size(); i-- > 0;) {
      const auto at = std::lower_bound(sum.scope.begin(), sum.scope.end(), factor.scope[i]);
      steps[static_cast<size_t>(at - sum.scope.begin())] = step;
      step *= static_cast<size_t>(network_.domain(factor.scope[i]));
    }
    std::vector<int> values(sum.scope.size(), 0);
    size_t from = 0;
    for (Cost& cost : sum.table) {
      cost += factor.table[from];
      for (size_t i = steps.size(); i-- > 0;) {
        from += steps[i];
        if (++values[i] < network_.domain(sum.scope[i])) break;
        from -= steps[i] * static_cast<size_t>(values[i]);
        values[i] = 0;
      }
    }
  }

  const Network& network_;
  std::list<Factor> sums_;
};

/// Minimum over one variable of a sum of tables.
class Minimum {
 public:
  Minimum(const Network& network, int variable, std::vector<int> scope,
          const std::vector<const Factor*>& factors)
      : network_(network), variable_(variable), scope_(std::move(scope)), outer_(scope_.size()) {
    while (outer_ > 0 && block_ < kBlock) {
      block_ *= static_cast<size_t>(network.domain(scope_[--outer_]));
    }
    for (const Factor* factor : factors) AddSummand(*factor);
  }

  /// Fills `result` and, for each of its entries, the best value.
  void Run(std::vector<Cost>& result, std::vector<uint16_t>& best) {
    const auto entries = static_cast<size_t>(TableEntries(network_, scope_));
    result.assign(entries, kForbidden);
    best.assign(entries, 0);
    at_.assign(outer_, 0);
    offsets_.assign(summands_.size(), 0);
    row_.resize(block_);
    for (size_t start = 0; start < entries; start += block_) {
      RunBlock(&result[start], &best[start]);
      Advance();
    }
  }

 private:
  void AddSummand(const Factor& factor) {
    Summand summand{factor.table.data(), 0, std::vector<size_t>(scope_.size(), 0), {}};
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
    const auto inner = summand.by_scope.begin() + static_cast<ptrdiff_t>(outer_);
    if (std::any_of(inner, summand.by_scope.end(), [](size_t s) { return s > 0; })) {
      summand.block = {0};
      for (size_t i = outer_; i < scope_.size(); ++i) {
        std::vector<uint32_t> finer;
        for (const uint32_t offset : summand.block) {
          for (int x = 0; x < network_.domain(scope_[i]); ++x) {
            finer.push_back(offset +
                            static_cast<uint32_t>(summand.by_scope[i]) * static_cast<uint32_t>(x));
          }
        }
        summand.block = std::move(finer);
      }
    }
    summands_.push_back(std::move(summand));
  }

  void RunBlock(Cost* result, uint16_t* best) {
    const std::vector<Cost>& unary = network_.unary[static_cast<size_t>(variable_)];
    for (size_t x = 0; x < unary.size(); ++x) {
      Cost same = unary[x];
      for (size_t s = 0; s < summands_.size(); ++s) {
        if (summands_[s].block.empty()) {
          same += summands_[s].table[offsets_[s] + x * summands_[s].by_value];
        }
      }
      if (same == kForbidden) continue;
      std::fill(row_.begin(), row_.end(), same);
      for (size_t s = 0; s < summands_.size(); ++s) {
        const Summand& summand = summands_[s];
        if (summand.block.empty()) continue;
        const Cost* from = summand.table + offsets_[s] + x * summand.by_value;
        for (size_t y = 0; y < block_; ++y) row_[y] += from[summand.block[y]];
      }
      for (size_t y = 0; y < block_; ++y) {
        const bool is_better = row_[y] < result[y];
        result[y] = is_better ? row_[y] : result[y];
        best[y] = is_better ? static_cast<uint16_t>(x) : best[y];
      }
    }
  }

  /// The next combination of the variables outside the block.
  void Advance() {
    for (size_t i = outer_; i-- > 0;) {
      const auto domain = static_cast<size_t>(network_.domain(scope_[i]));
      for (size_t s = 0; s < summands_.size(); ++s) offsets_[s] += summands_[s].by_scope[i];
      if (++at_[i] < domain) return;
      for (size_t s = 0; s < summands_.size(); ++s) {
        offsets_[s] -= summands_[s].by_scope[i] * domain;
      }
      at_[i] = 0;
    }
  }

  const Network& network_;
  int variable_;
  std::vector<int> scope_;
  size_t outer_;      // variables of scope_ outside the block
  size_t block_ = 1;  // entries of a block: all combinations of the last variables of scope_
  std::vector<Summand> summands_;
  std::vector<size_t> at_;       // values of the outer variables
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
  const SmallSums sums(network_, factors,
                       TableEntries(network_, scope) * network_.domain(variable));
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
