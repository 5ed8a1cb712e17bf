#include "solver/network/minimum.h"

#include <algorithm>
#include <list>

namespace fettle::solver {
namespace {

constexpr int kMostValues = 1 << 16;
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
      steps[at - sum.scope.begin()] = step;
      step *= network_.domain(factor.scope[i]);
    }
    std::vector<int> values(sum.scope.size(), 0);
    size_t from = 0;
    for (Cost& cost : sum.table) {
      cost += factor.table[from];
      for (size_t i = steps.size(); i-- > 0;) {
        from += steps[i];
        if (++values[i] < network_.domain(sum.scope[i])) break;
        from -= steps[i] * values[i];
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
      block_ *= network.domain(scope_[--outer_]);
    }
    for (const Factor* factor : factors) AddSummand(*factor);
  }

  /// Fills `result` and, for each of its entries, the best value.
  void Run(std::vector<Cost>& result, std::vector<uint16_t>& best) {
    const size_t entries = static_cast<size_t>(TableEntries(network_, scope_));
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
        summand.by_scope[at] = step;
      }
      step *= network_.domain(v);
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
    const std::vector<Cost>& unary = network_.unary[variable_];
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
      const size_t domain = network_.domain(scope_[i]);
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

void MinimiseOver(const Network& network, int variable, const std::vector<int>& scope,
                  std::vector<const Factor*> factors, std::vector<Cost>& costs,
                  std::vector<uint16_t>& best) {
  FETTLE_CHECK(network.domain(variable) <= kMostValues, "domains fit in 16 bits");
  const SmallSums sums(network, factors, TableEntries(network, scope) * network.domain(variable));
  Minimum(network, variable, scope, factors).Run(costs, best);
}

}  // namespace fettle::solver
