// Solves an instance of the IOPDDL contest (google/iopddl; ASPLOS 2025), JSON on standard input,
// and prints one row: name, nodes, edges, value, bound, gap, seconds.
// Usage: iopddl_solve [SECONDS [SEED]]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "base/clock.h"
#include "io/iopddl.h"
#include "solver/bounded/bounded.h"

using namespace fettle;          // NOLINT: a program of one file
using namespace fettle::solver;  // NOLINT

int main(int argc, char** argv) {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const Result<tools::IopddlInstance> instance = tools::ParseIopddl(text);
  if (!instance.ok()) {
    std::fprintf(stderr, "%s\n", instance.status().message().c_str());
    return 1;
  }
  const LimitedNetwork& problem = instance->problem;
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
              instance->name.c_str(), problem.network.variables(), problem.network.factors.size(),
              result->variables_left, result->cost, result->bound,
              found ? 100 * (result->cost - result->bound) / result->cost : 100.0, seconds,
              static_cast<long long>(result->nodes));
  return 0;
}
