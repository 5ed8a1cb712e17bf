// Solves an instance of the IOPDDL contest (google/iopddl; ASPLOS 2025), JSON on standard input,
// and prints one row: name, nodes, edges, value, bound, gap, seconds.
// Usage: iopddl_solve [SECONDS [SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "solver/bounded.h"

namespace {

using namespace fettle;          // NOLINT: a program of one file
using namespace fettle::solver;  // NOLINT
using nlohmann::json;

/// The contest's mark of what is not allowed.
constexpr double kContestForbidden = 1e18;

std::vector<Cost> Costs(const json& numbers) {
  std::vector<Cost> costs;
  for (const json& number : numbers) {
    const double cost = number.get<double>();
    costs.push_back(cost >= kContestForbidden ? kForbidden : cost);
  }
  return costs;
}

/// Edges name their nodes in any order; factors want them ascending.
Factor MakeFactor(const Network& network, int first, int second, std::vector<Cost> table) {
  if (first < second) return {{first, second}, std::move(table)};
  const auto rows = static_cast<size_t>(network.domain(first));
  const auto columns = static_cast<size_t>(network.domain(second));
  Factor factor{{second, first}, {}};
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) factor.table.push_back(table[row * columns + column]);
  }
  return factor;
}

LimitedNetwork Read(const json& instance) {
  LimitedNetwork problem;
  const json& nodes = instance["nodes"];
  for (const json& costs : nodes["costs"]) problem.network.unary.push_back(Costs(costs));
  int steps = 0;
  for (size_t v = 0; v < nodes["intervals"].size(); ++v) {
    const int begin = nodes["intervals"][v][0];
    const int end = nodes["intervals"][v][1];
    if (begin >= end) continue;
    steps = std::max(steps, end);
    problem.held.push_back(
        {static_cast<int>(v), begin, end, nodes["usages"][v].get<std::vector<int64_t>>()});
  }
  if (instance.contains("usage_limit")) {
    problem.capacity.assign(static_cast<size_t>(steps), instance["usage_limit"].get<int64_t>());
  } else {
    problem.held.clear();
  }
  const json& edges = instance["edges"];
  for (size_t e = 0; e < edges["nodes"].size(); ++e) {
    problem.network.factors.push_back(MakeFactor(problem.network, edges["nodes"][e][0],
                                                 edges["nodes"][e][1], Costs(edges["costs"][e])));
  }
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  const json instance = json::parse(std::cin)["problem"];
  const LimitedNetwork problem = Read(instance);
  BoundedOptions options;
  if (argc > 1) options.seconds = std::atof(argv[1]);
  if (argc > 2) options.seed = static_cast<uint64_t>(std::atoll(argv[2]));
  const int64_t start = NowNs();
  const Result<Bounded> result = SolveBounded(problem, options);
  const double seconds = static_cast<double>(NowNs() - start) * 1e-9;
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    return 1;
  }
  const bool found = !result->values.empty();
  if (found &&
      !(Sum(problem.network, result->values) == result->cost && Fits(problem, result->values))) {
    std::fprintf(stderr, "the assignment does not cost what was said or does not fit\n");
    return 1;
  }
  std::printf("| %s | %d | %zu | %d | %.0f | %.0f | %.2f %% | %.1f | %lld |\n",
              instance["name"].get<std::string>().c_str(), problem.network.variables(),
              problem.network.factors.size(), result->variables_left, result->cost, result->bound,
              found ? 100 * (result->cost - result->bound) / result->cost : 100.0, seconds,
              static_cast<long long>(result->nodes));
  return 0;
}
