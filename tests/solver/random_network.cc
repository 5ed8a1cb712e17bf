#include "tests/solver/random_network.h"

#include <algorithm>
#include <random>

namespace fettle::solver {
namespace {

class Maker {
 public:
  Maker(const NetworkShape& shape, uint64_t seed) : shape_(shape), random_(seed) {}

  LimitedNetwork Make() {
    for (int v = 0; v < shape_.variables; ++v) {
      network_.unary.emplace_back();
      for (int x = Below(shape_.most_values); x >= 0; --x) {
        network_.unary.back().push_back(Chance(shape_.forbidden / 4) ? kForbidden : Below(20));
      }
    }
    for (int i = 0; i < shape_.pairs; ++i) AddFactor(2);
    for (int i = 0; i < shape_.triples; ++i) AddFactor(3);
    LimitedNetwork problem;
    problem.network = network_;
    if (shape_.steps > 0) AddMemory(problem);
    return problem;
  }

 private:
  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  void AddFactor(size_t arity) {
    Factor factor;
    while (factor.scope.size() < arity) {
      const int v = Below(shape_.variables);
      if (std::count(factor.scope.begin(), factor.scope.end(), v) == 0) factor.scope.push_back(v);
    }
    std::sort(factor.scope.begin(), factor.scope.end());
    const auto entries = static_cast<size_t>(TableEntries(network_, factor.scope));
    for (size_t i = 0; i < entries; ++i) {
      factor.table.push_back(Chance(shape_.forbidden) ? kForbidden : Below(50));
    }
    if (arity == 2 && Chance(shape_.functions)) MakeFunction(factor);
    network_.factors.push_back(std::move(factor));
  }

  void MakeFunction(Factor& factor) {
    const int columns = network_.domain(factor.scope[1]);
    for (int row = 0; row < network_.domain(factor.scope[0]); ++row) {
      const int kept = Below(columns);
      for (int column = 0; column < columns; ++column) {
        factor.table[static_cast<size_t>(row * columns + column)] =
            column == kept ? Below(50) : kForbidden;
      }
    }
  }

  void AddMemory(LimitedNetwork& problem) {
    std::vector<int64_t> most(static_cast<size_t>(shape_.steps), 0);
    for (int i = 0; i < 2 * shape_.variables; ++i) {
      Held held;
      held.variable = Below(shape_.variables);
      held.begin = Below(shape_.steps);
      held.end = held.begin + 1 + Below(shape_.steps - held.begin);
      for (int x = 0; x < network_.domain(held.variable); ++x) held.bytes.push_back(Below(100));
      for (int t = held.begin; t < held.end; ++t) {
        most[static_cast<size_t>(t)] += *std::max_element(held.bytes.begin(), held.bytes.end());
      }
      problem.held.push_back(std::move(held));
    }
    const double peak = static_cast<double>(*std::max_element(most.begin(), most.end()));
    problem.capacity.assign(most.size(), static_cast<int64_t>(peak * shape_.tightness));
  }

  NetworkShape shape_;
  std::mt19937_64 random_;
  Network network_;
};

}  // namespace

LimitedNetwork RandomNetwork(const NetworkShape& shape, uint64_t seed) {
  return Maker(shape, seed).Make();
}

std::optional<Optimum> BruteForce(const LimitedNetwork& problem) {
  Optimum best;
  Assignment values(problem.network.unary.size(), 0);
  for (;;) {
    const Cost cost = Sum(problem.network, values);
    if (cost < best.cost && Fits(problem, values)) best = {cost, values};
    size_t v = 0;
    while (v < values.size() && ++values[v] == problem.network.domain(static_cast<int>(v))) {
      values[v++] = 0;
    }
    if (v == values.size()) break;
  }
  if (best.cost == kForbidden) return std::nullopt;
  return best;
}

}  // namespace fettle::solver
