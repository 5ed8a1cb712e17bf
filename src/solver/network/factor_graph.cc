#include "solver/network/factor_graph.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace fettle::solver {
namespace {

/// Entry (x0, x1, ..) of the result, last axis fastest, is table[offsets[0][x0] + offsets[1][x1] +
/// ..].
std::vector<Cost> Gather(const std::vector<Cost>& table,
                         const std::vector<std::vector<size_t>>& offsets) {
  std::vector<size_t> places = {0};
  for (const std::vector<size_t>& axis : offsets) {
    std::vector<size_t> next;
    next.reserve(places.size() * axis.size());
    for (const size_t place : places) {
      for (const size_t offset : axis) next.push_back(place + offset);
    }
    places = std::move(next);
  }
  std::vector<Cost> gathered;
  gathered.reserve(places.size());
  for (const size_t place : places) gathered.push_back(table[place]);
  return gathered;
}

/// The distance in the table between neighbour values of the variable.
size_t StrideOf(const FactorGraph& graph, const std::vector<int>& scope, int variable) {
  size_t stride = 1;
  for (size_t i = scope.size(); i-- > 0 && scope[i] != variable;) {
    stride *= graph.domain(scope[i]);
  }
  return stride;
}

std::vector<size_t> Multiples(size_t stride, int count) {
  std::vector<size_t> multiples;
  for (int i = 0; i < count; ++i) multiples.push_back(stride * i);
  return multiples;
}

/// `factor` with `target` replaced by a function of `source`, which it may hold already.
Factor WithSubstitute(const FactorGraph& graph, const Factor& factor, int target, int source,
                      const std::vector<int>& value_of) {
  const auto& scope = factor.scope;
  std::map<int, std::vector<size_t>> offsets;  // by variable of the new scope
  for (const int v : scope) {
    if (v != target) offsets[v] = Multiples(StrideOf(graph, scope, v), graph.domain(v));
  }
  std::vector<size_t>& merged = offsets[source];
  merged.resize(value_of.size(), 0);
  const size_t stride = StrideOf(graph, scope, target);
  for (size_t x = 0; x < merged.size(); ++x) merged[x] += stride * value_of[x];

  Factor result;
  std::vector<std::vector<size_t>> in_order;
  for (auto& [variable, places] : offsets) {
    result.scope.push_back(variable);
    in_order.push_back(std::move(places));
  }
  result.table = Gather(factor.table, in_order);
  return result;
}

template <typename T>
void KeepFlagged(std::vector<T>& list, const std::vector<char>& flags) {
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (flags[i]) list[kept++] = list[i];
  }
  list.resize(kept);
}

}  // namespace

Axis AxisOf(const std::vector<int>& domains, size_t axis) {
  Axis result;
  for (size_t i = 0; i < domains.size(); ++i) {
    (i < axis ? result.outer : i == axis ? result.domain : result.inner) *= domains[i];
  }
  return result;
}

std::vector<Cost> MinAlong(const std::vector<Cost>& table, const Axis& axis) {
  std::vector<Cost> least(axis.domain, kForbidden);
  for (size_t a = 0; a < axis.outer; ++a) {
    for (size_t k = 0; k < axis.domain; ++k) {
      const Cost* row = &table[(a * axis.domain + k) * axis.inner];
      Cost cost = least[k];
      for (size_t i = 0; i < axis.inner; ++i) cost = std::min(cost, row[i]);
      least[k] = cost;
    }
  }
  return least;
}

FactorGraph::FactorGraph(const LimitedNetwork& problem)
    : unary_(problem.network.unary),
      original_(unary_.size()),
      gone_(unary_.size(), false),
      incident_(unary_.size()),
      held_(unary_.size()),
      capacity_(problem.capacity),
      constant_(problem.network.constant) {
  for (size_t v = 0; v < unary_.size(); ++v) {
    original_[v].resize(unary_[v].size());
    std::iota(original_[v].begin(), original_[v].end(), 0);
  }
  for (const Held& held : problem.held) held_[Index(held.variable)].push_back(held);
  for (const Factor& factor : problem.network.factors) Attach(factor);
}

Factor FactorGraph::Detach(int index) {
  Factor factor = std::move(factors_[Index(index)]);
  factors_[Index(index)] = {};
  for (const int v : factor.scope) incident_[Index(v)].erase(index);
  by_scope_.erase(factor.scope);
  return factor;
}

void FactorGraph::Attach(Factor factor) {
  if (factor.scope.size() <= 1) {
    if (factor.scope.empty()) {
      constant_ += factor.table[0];
      return;
    }
    std::vector<Cost>& costs = unary(factor.scope[0]);
    for (size_t x = 0; x < costs.size(); ++x) costs[x] += factor.table[x];
    return;
  }
  const auto [place, is_new] = by_scope_.try_emplace(factor.scope, factor_count());
  if (is_new) {
    for (const int v : factor.scope) incident_[Index(v)].insert(place->second);
    factors_.push_back(std::move(factor));
    return;
  }
  std::vector<Cost>& table = factors_[Index(place->second)].table;
  for (size_t i = 0; i < table.size(); ++i) table[i] += factor.table[i];
}

void FactorGraph::Keep(int variable, const std::vector<char>& flags) {
  for (const int index : incident_[Index(variable)]) {
    Factor& factor = factors_[Index(index)];
    std::vector<std::vector<size_t>> offsets;
    for (const int v : factor.scope) {
      offsets.push_back(Multiples(StrideOf(*this, factor.scope, v), domain(v)));
      if (v == variable) KeepFlagged(offsets.back(), flags);
    }
    factor.table = Gather(factor.table, offsets);
  }
  for (Held& held : held_[Index(variable)]) KeepFlagged(held.bytes, flags);
  KeepFlagged(unary_[Index(variable)], flags);
  KeepFlagged(original_[Index(variable)], flags);
  FETTLE_CHECK(domain(variable) > 0, "a variable keeps a value");
}

void FactorGraph::Substitute(int target, int source, const std::vector<int>& value_of) {
  std::vector<Cost>& costs = unary(source);
  for (size_t x = 0; x < costs.size(); ++x) costs[x] += unary(target)[Index(value_of[x])];
  const std::set<int> moved = incident_[Index(target)];
  for (const int index : moved) {
    const Factor factor = Detach(index);
    Attach(WithSubstitute(*this, factor, target, source, value_of));
  }
  for (Held& held : held_[Index(target)]) {
    std::vector<int64_t> bytes;
    for (const int value : value_of) bytes.push_back(held.bytes[Index(value)]);
    held_[Index(source)].push_back({source, held.begin, held.end, std::move(bytes)});
  }
  held_[Index(target)].clear();
  gone_[Index(target)] = true;
}

void FactorGraph::Fix(int variable) {
  FETTLE_CHECK(domain(variable) == 1, "a fixed variable has one value");
  const std::set<int> held_by = incident_[Index(variable)];
  for (const int index : held_by) {
    Factor factor = Detach(index);
    std::erase(factor.scope, variable);
    Attach(std::move(factor));
  }
  constant_ += unary(variable)[0];
  Remove(variable);
}

void FactorGraph::Remove(int variable) {
  FETTLE_CHECK(incident_[Index(variable)].empty(), "a removed variable has no factors");
  for (const Held& held : held_[Index(variable)]) {
    for (int t = held.begin; t < held.end; ++t) capacity_[Index(t)] -= held.bytes[0];
  }
  held_[Index(variable)].clear();
  gone_[Index(variable)] = true;
}

LimitedNetwork FactorGraph::Rest(std::vector<int>* kept) const {
  LimitedNetwork rest;
  std::vector<int> number(unary_.size(), -1);
  kept->clear();
  for (size_t v = 0; v < unary_.size(); ++v) {
    if (gone_[v]) continue;
    number[v] = static_cast<int>(kept->size());
    kept->push_back(static_cast<int>(v));
    rest.network.unary.push_back(unary_[v]);
    for (const Held& held : held_[v]) {
      rest.held.push_back({number[v], held.begin, held.end, held.bytes});
    }
  }
  for (const Factor& factor : factors_) {
    if (factor.scope.empty()) continue;
    rest.network.factors.push_back(factor);
    for (int& v : rest.network.factors.back().scope) v = number[Index(v)];
  }
  rest.network.constant = constant_;
  rest.capacity = capacity_;
  return rest;
}

}  // namespace fettle::solver
