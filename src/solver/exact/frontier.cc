#include "solver/exact/frontier.h"

#include <algorithm>

#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

constexpr size_t kMostPairs = 1 << 22;

/// Goes through all combinations of values of `scope`, last variable fastest, and says where each
/// of several tables over some of these variables has its entry.
class Walk {
 public:
  Walk(const Network& network, const std::vector<int>& scope,
       const std::vector<const std::vector<int>*>& tables)
      : values_(scope.size(), 0), entries_(tables.size(), 0) {
    for (const int v : scope) domains_.push_back(network.domain(v));
    for (const std::vector<int>* table : tables) {
      std::vector<size_t>& steps = steps_.emplace_back(scope.size(), 0);
      size_t step = 1;
      for (size_t i = table->size(); i-- > 0;) {
        const auto at = std::find(scope.begin(), scope.end(), (*table)[i]) - scope.begin();
        steps[at] = step;
        step *= network.domain((*table)[i]);
      }
    }
  }

  size_t entry(size_t table) const { return entries_[table]; }
  size_t last_value() const { return values_.back(); }

  /// False after the last combination.
  bool Next() {
    for (size_t i = domains_.size(); i-- > 0;) {
      const bool wraps = ++values_[i] == domains_[i];
      for (size_t t = 0; t < entries_.size(); ++t) {
        entries_[t] += steps_[t][i];
        if (wraps) entries_[t] -= steps_[t][i] * domains_[i];
      }
      if (!wraps) return true;
      values_[i] = 0;
    }
    return false;
  }

 private:
  std::vector<size_t> domains_, values_;
  std::vector<std::vector<size_t>> steps_;  // by table and variable
  std::vector<size_t> entries_;
};

/// A way to complete what is eliminated so far.
struct Pair {
  Cost cost = 0;
  double error = 0;
  int32_t link = -1;  // how it came about
};

class Frontier {
 public:
  Frontier(const Network& costs, const Network& errors, const EliminationOrder& order,
           const KnownPrice& known)
      : costs_(costs), errors_(errors), price_(known.price), most_(known.most) {
    MakeSteps(order);
  }

  std::optional<Assignment> Run(double budget) {
    for (Step& step : steps_) MakeMessage(step);
    FindRests();
    for (Step& step : steps_) {
      MakePairs(step);
      if (links_.size() > kMostPairs) return std::nullopt;
    }
    std::vector<Pair> all = {{costs_.constant, errors_.constant, -1}};
    for (const Step& step : steps_) {
      if (step.scope.empty()) all = Filtered(Joined(all, step.pairs[0]));
    }
    for (const Pair& pair : all) {  // by rising cost
      if (pair.error <= budget * (1 + kErrorSlack)) return Values(pair);
    }
    return std::nullopt;
  }

 private:
  struct Step {
    int variable = 0;
    std::vector<int> scope, joint;  // joint: the scope, then the variable
    std::vector<int> factors;
    std::vector<int> before;          // steps whose messages go in
    std::vector<Cost> message, rest;  // priced, over the scope: of what is eliminated; of all else
    std::vector<std::vector<Pair>> pairs;  // over the scope
  };
  /// A value of a variable, or two links joined.
  struct Link {
    int32_t variable, value, left, right;
  };

  Cost Priced(Cost cost, double error) const { return cost + price_ * error; }
  Cost PricedEntry(int factor, size_t entry) const {
    const size_t f = factor;
    return Priced(costs_.factors[f].table[entry], errors_.factors[f].table[entry]);
  }
  Cost PricedUnary(int variable, size_t x) const {
    const size_t v = variable;
    return Priced(costs_.unary[v][x], errors_.unary[v][x]);
  }

  void MakeSteps(const EliminationOrder& order) {
    std::vector<std::vector<int>> factors = FactorsByVariable(costs_);
    std::vector<bool> used(costs_.factors.size(), false), consumed(order.variables.size(), false);
    std::vector<std::vector<int>> messages(costs_.unary.size());  // by variable: steps
    for (const int v : order.variables) {
      Step step;
      step.variable = v;
      const auto add = [&](const std::vector<int>& scope) {
        std::vector<int> both;
        std::set_union(step.scope.begin(), step.scope.end(), scope.begin(), scope.end(),
                       std::back_inserter(both));
        step.scope = std::move(both);
      };
      for (const int f : factors[v]) {
        if (used[f]) continue;
        used[f] = true;
        step.factors.push_back(f);
        add(costs_.factors[f].scope);
      }
      for (const int m : messages[v]) {
        if (consumed[m]) continue;
        consumed[m] = true;
        step.before.push_back(m);
        add(steps_[m].scope);
      }
      std::erase(step.scope, v);
      step.joint = step.scope;
      step.joint.push_back(v);
      for (const int u : step.scope) {
        messages[u].push_back(static_cast<int>(steps_.size()));
      }
      steps_.push_back(std::move(step));
    }
  }

  /// Over the joint scope: the tables of factors, of messages that go in, and the own scope.
  Walk WalkOf(const Step& step) const {
    std::vector<const std::vector<int>*> tables;
    for (const int f : step.factors) tables.push_back(&costs_.factors[f].scope);
    for (const int m : step.before) tables.push_back(&steps_[m].scope);
    tables.push_back(&step.scope);
    return Walk(costs_, step.joint, tables);
  }
  size_t OwnTable(const Step& step) const { return step.factors.size() + step.before.size(); }

  /// Priced cost of all that goes into a step.
  Cost CostAt(const Step& step, const Walk& walk) const {
    Cost cost = PricedUnary(step.variable, walk.last_value());
    for (size_t i = 0; i < step.factors.size(); ++i) {
      cost += PricedEntry(step.factors[i], walk.entry(i));
    }
    for (size_t i = 0; i < step.before.size(); ++i) {
      const Step& before = steps_[step.before[i]];
      cost += before.message[walk.entry(step.factors.size() + i)];
    }
    return cost;
  }

  void MakeMessage(Step& step) {
    step.message.assign(static_cast<size_t>(TableEntries(costs_, step.scope)), kForbidden);
    Walk walk = WalkOf(step);
    do {
      Cost& least = step.message[walk.entry(OwnTable(step))];
      least = std::min(least, CostAt(step, walk));
    } while (walk.Next());
  }

  /// From the last step back: what everything outside costs at least, given the scope.
  void FindRests() {
    Cost all = Priced(costs_.constant, errors_.constant);
    for (const Step& step : steps_) {
      if (step.scope.empty()) all += step.message[0];
    }
    for (size_t s = steps_.size(); s-- > 0;) {
      Step& step = steps_[s];
      if (step.scope.empty()) step.rest = {all - step.message[0]};
      for (const int m : step.before) {
        Step& before = steps_[m];
        before.rest.assign(before.message.size(), kForbidden);
      }
      Walk walk = WalkOf(step);
      do {
        const Cost cost = CostAt(step, walk) + step.rest[walk.entry(OwnTable(step))];
        if (cost == kForbidden) continue;
        for (size_t i = 0; i < step.before.size(); ++i) {
          Step& before = steps_[step.before[i]];
          const size_t entry = walk.entry(step.factors.size() + i);
          before.rest[entry] = std::min(before.rest[entry], cost - before.message[entry]);
        }
      } while (walk.Next());
    }
  }

  void MakePairs(Step& step) {
    step.pairs.resize(step.message.size());
    Walk walk = WalkOf(step);
    do {
      const size_t own = walk.entry(OwnTable(step));
      if (CostAt(step, walk) + step.rest[own] > most_) continue;
      const size_t v = step.variable;
      Pair pair{costs_.unary[v][walk.last_value()], errors_.unary[v][walk.last_value()], -1};
      for (size_t i = 0; i < step.factors.size(); ++i) {
        const size_t f = step.factors[i];
        pair.cost += costs_.factors[f].table[walk.entry(i)];
        pair.error += errors_.factors[f].table[walk.entry(i)];
      }
      pair.link = AddLink({step.variable, static_cast<int32_t>(walk.last_value()), -1, -1});
      std::vector<Pair> pairs = {pair};
      for (size_t i = 0; i < step.before.size(); ++i) {
        const Step& before = steps_[step.before[i]];
        pairs = Joined(pairs, before.pairs[walk.entry(step.factors.size() + i)]);
      }
      for (const Pair& found : pairs) {
        if (Priced(found.cost, found.error) + step.rest[own] <= most_) {
          step.pairs[own].push_back(found);
        }
      }
    } while (walk.Next() && links_.size() <= kMostPairs);
    for (std::vector<Pair>& pairs : step.pairs) pairs = Filtered(std::move(pairs));
  }

  int32_t AddLink(Link link) {
    links_.push_back(link);
    return static_cast<int32_t>(links_.size()) - 1;
  }

  std::vector<Pair> Joined(const std::vector<Pair>& a, const std::vector<Pair>& b) {
    std::vector<Pair> joined;
    for (const Pair& x : a) {
      for (const Pair& y : b) {
        joined.push_back({x.cost + y.cost, x.error + y.error, AddLink({-1, 0, x.link, y.link})});
      }
    }
    return joined;
  }

  /// Those that no other beats in both, by rising cost.
  static std::vector<Pair> Filtered(std::vector<Pair> pairs) {
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return std::pair(a.cost, a.error) < std::pair(b.cost, b.error);
    });
    std::vector<Pair> kept;
    for (const Pair& pair : pairs) {
      if (kept.empty() || pair.error < kept.back().error) kept.push_back(pair);
    }
    return kept;
  }

  Assignment Values(const Pair& pair) const {
    Assignment values(costs_.unary.size(), 0);
    std::vector<int32_t> open = {pair.link};
    while (!open.empty()) {
      const int32_t at = open.back();
      open.pop_back();
      if (at < 0) continue;
      const Link& link = links_[at];
      if (link.variable >= 0) values[link.variable] = link.value;
      open.push_back(link.left);
      open.push_back(link.right);
    }
    return values;
  }

  const Network& costs_;
  const Network& errors_;
  double price_;
  Cost most_;
  std::vector<Step> steps_;
  std::vector<Link> links_;
};

}  // namespace

std::optional<Assignment> CheapestWithin(double budget, const Network& costs, const Network& errors,
                                         const EliminationOrder& order, const KnownPrice& known) {
  return Frontier(costs, errors, order, known).Run(budget);
}

}  // namespace fettle::solver
