#include "solver/network/simplify.h"

#include <algorithm>
#include <deque>

#include "base/check.h"
#include "solver/network/factor_graph.h"
#include "solver/network/factor_rules.h"
#include "solver/network/memory_steps.h"

namespace fettle::solver {
namespace {

/// Entries that the table of an eliminated variable may have, where it makes the network larger.
constexpr size_t kSmallTable = 4096;
constexpr int kRounds = 20;

class Simplifier {
 public:
  explicit Simplifier(const LimitedNetwork& problem)
      : graph_(problem), has_memory_(!problem.capacity.empty()) {}

  Simplified Run() {
    Simplified result;
    result.feasible = Reduce();
    if (!result.feasible) return result;
    const LimitedNetwork rest = graph_.Rest(&result.variable_of);
    for (const int v : result.variable_of) result.value_of.push_back(graph_.original(v));
    FewerSteps fewer = CompressSteps(rest);
    result.problem = std::move(fewer.problem);
    result.new_step = std::move(fewer.new_step);
    result.removed = std::move(removed_);
    return result;
  }

 private:
  /// False: infeasible.
  bool Reduce() {
    for (int round = 0; round < kRounds; ++round) {
      const int64_t before = changes_;
      if (!CloseSupport()) return false;
      FixSingles();
      JoinFunctions();
      if (!CloseSupport()) return false;
      ForEachVariable([this](int v) { SplitTables(v); });
      ForEachVariable([this](int v) { DropDominated(v); });
      ForEachVariable([this](int v) { EliminateIfSmall(v); });
      if (has_memory_ && !DropUnfitting()) return false;
      if (changes_ == before) break;
    }
    FixSingles();
    return true;
  }

  template <typename Rule>
  void ForEachVariable(Rule rule) {
    for (int v = 0; v < graph_.variables(); ++v) {
      if (!graph_.gone(v)) rule(v);
    }
  }

  /// Leaves the flagged values. False: none.
  bool Keep(int variable, const std::vector<char>& flags) {
    const auto kept = std::count(flags.begin(), flags.end(), 1);
    if (kept == graph_.domain(variable)) return true;
    if (kept == 0) return false;
    ++changes_;
    graph_.Keep(variable, flags);
    return true;
  }

  /// Drops values without an allowed entry in some table, until all have one. False: a variable
  /// has none left.
  bool CloseSupport() {
    std::deque<int> queue;
    std::vector<char> queued(Index(graph_.variables()), 1);
    ForEachVariable([&](int v) { queue.push_back(v); });
    while (!queue.empty()) {
      const int v = queue.front();
      queue.pop_front();
      queued[Index(v)] = 0;
      const int before = graph_.domain(v);
      if (!Keep(v, Supported(graph_, v))) return false;
      if (graph_.domain(v) == before) continue;
      for (const int factor : graph_.factors(v)) {
        for (const int w : graph_.factor(factor).scope) {
          if (w == v || queued[Index(w)]) continue;
          queued[Index(w)] = 1;
          queue.push_back(w);
        }
      }
    }
    return true;
  }

  void FixSingles() {
    ForEachVariable([this](int v) {
      if (graph_.domain(v) != 1) return;
      removed_.push_back({v, {}, {}, {graph_.original(v)[0]}});
      graph_.Fix(v);
      ++changes_;
    });
  }

  void JoinFunctions() {
    for (int index = 0; index < graph_.factor_count(); ++index) {
      if (graph_.detached(index) || graph_.factor(index).scope.size() != 2) continue;
      int source = graph_.factor(index).scope[0];
      int target = graph_.factor(index).scope[1];
      if (Ties(graph_, source) < Ties(graph_, target)) std::swap(source, target);
      if (!JoinIfFunction(index, source, target)) JoinIfFunction(index, target, source);
    }
  }

  bool JoinIfFunction(int index, int source, int target) {
    const std::vector<int> function = FunctionOf(graph_, graph_.factor(index), source);
    if (function.empty() || GrowsTooMuch(graph_, target, source)) return false;
    // An allowed pair's cost becomes the source's; forbidden pairs cannot be chosen any more.
    const Factor factor = graph_.Detach(index);
    const std::vector<Cost> least = MinAlong(factor.table, AxisOfVariable(graph_, factor, source));
    for (size_t x = 0; x < least.size(); ++x) graph_.unary(source)[x] += least[x];
    std::vector<int> values;
    for (const int value : function) values.push_back(graph_.original(target)[Index(value)]);
    removed_.push_back({target, {source}, {graph_.original(source)}, std::move(values)});
    graph_.Substitute(target, source, function);
    ++changes_;
    return true;
  }

  void SplitTables(int v) {
    const std::set<int> incident = graph_.factors(v);
    for (const int index : incident) {
      if (graph_.factor(index).scope.size() == 2 && IsSum(graph_, graph_.factor(index)))
        Split(index);
    }
  }

  void Split(int index) {
    const Factor factor = graph_.Detach(index);
    std::vector<Cost>& rows = graph_.unary(factor.scope[0]);
    std::vector<Cost>& columns = graph_.unary(factor.scope[1]);
    for (size_t x = 0; x < rows.size(); ++x) {
      rows[x] += factor.table[x * columns.size()] - factor.table[0];
    }
    for (size_t y = 0; y < columns.size(); ++y) columns[y] += factor.table[y];
    ++changes_;
  }

  void DropDominated(int v) {
    const size_t domain = Index(graph_.domain(v));
    const std::vector<Held> held = Flatten(graph_.held(v), v, graph_.domain(v));
    std::vector<char> flags(domain, 1);
    for (size_t a = 0; a < domain; ++a) {
      for (size_t b = 0; b < domain && flags[a]; ++b) {
        if (a != b && flags[b] && StandsIn(graph_, v, held, a, b)) flags[a] = 0;
      }
    }
    FETTLE_CHECK(Keep(v, flags), "a value that stands in for another one stays");
  }

  void EliminateIfSmall(int v) {
    std::set<int> neighbours;
    size_t entries = 0;
    for (const int index : graph_.factors(v)) {
      neighbours.insert(graph_.factor(index).scope.begin(), graph_.factor(index).scope.end());
      entries += graph_.factor(index).table.size();
      if (neighbours.size() > 3) return;
    }
    neighbours.erase(v);
    size_t size = 1;
    for (const int w : neighbours) size *= Index(graph_.domain(w));
    if (size > std::max(kSmallTable, 2 * entries) || !HoldsTheSame(graph_, v)) return;
    Eliminate(v, {neighbours.begin(), neighbours.end()});
  }

  /// Takes out `v`, whose factors are over it and `scope`, of two variables at most.
  void Eliminate(int v, const std::vector<int>& scope) {
    Removed removed{v, scope, {}, {}};
    std::vector<int> domains;
    for (const int w : scope) {
      removed.scope_values.push_back(graph_.original(w));
      domains.push_back(graph_.domain(w));
    }
    domains.resize(2, 1);
    Factor result{scope, {}};
    for (int x = 0; x < domains[0]; ++x) {
      for (int y = 0; y < domains[1]; ++y) {
        const std::vector<Cost> costs = CostsGiven(graph_, v, scope, {x, y});
        const auto best = std::min_element(costs.begin(), costs.end());
        result.table.push_back(*best);
        removed.value.push_back(graph_.original(v)[best - costs.begin()]);
      }
    }
    const std::set<int> incident = graph_.factors(v);
    for (const int index : incident) graph_.Detach(index);
    graph_.Remove(v);
    graph_.Attach(std::move(result));
    removed_.push_back(std::move(removed));
    ++changes_;
  }

  /// Drops values that leave too little memory for the others. False: the least is too much.
  bool DropUnfitting() {
    std::vector<int> variables;
    const FittingValues fitting = FindFitting(graph_.Rest(&variables));
    if (!fitting.fits_at_all) return false;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!Keep(variables[i], fitting.flags[i])) return false;
    }
    return true;
  }

  FactorGraph graph_;
  bool has_memory_;
  std::vector<Removed> removed_;
  int64_t changes_ = 0;
};

}  // namespace

Assignment Simplified::Restore(const Assignment& values) const {
  Assignment original(variable_of.size() + removed.size(), -1);
  for (size_t v = 0; v < variable_of.size(); ++v) {
    original[Index(variable_of[v])] = value_of[v][Index(values[v])];
  }
  for (size_t i = removed.size(); i-- > 0;) {
    const Removed& one = removed[i];
    size_t entry = 0;
    for (size_t j = 0; j < one.scope.size(); ++j) {
      const std::vector<int>& known = one.scope_values[j];
      const auto place = std::find(known.begin(), known.end(), original[Index(one.scope[j])]);
      entry = entry * known.size() + (place - known.begin());
    }
    original[Index(one.variable)] = one.value[entry];
  }
  return original;
}

Simplified Simplify(const LimitedNetwork& problem) { return Simplifier(problem).Run(); }

}  // namespace fettle::solver
