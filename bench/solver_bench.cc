// Prints how long the solver takes on problems shaped like well-known networks, and how.
//   solver_bench [--method NAME] [--seeds N]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "solver/solve.h"
#include "tests/solver/graph_shapes.h"

namespace fettle::solver {
namespace {

constexpr int kRepeats = 5;

void Measure(const ShapedProblem& shaped, const Options& options) {
  double best_ms = 1e30;
  Report report;
  Result<Solution> solution = Unsupported("not solved");
  for (int repeat = 0; repeat < kRepeats && best_ms * repeat < 2000; ++repeat) {
    const int64_t start = NowNs();
    solution = Solve(shaped.problem, options, &report);
    best_ms = std::min(best_ms, static_cast<double>(NowNs() - start) / 1e6);
  }
  if (!solution.ok()) {
    fmt::print("{:<20} {}\n", shaped.name, solution.status().message());
    return;
  }
  fmt::print("{:<20} {:>5} {:>6} {:>6} {:>5} {:>11} {:>9.2f} {:>12.2f} {:>8.4f}%  {}\n",
             shaped.name, shaped.problem.nodes, report.choices_before, report.choices_after,
             report.width, report.largest_table, best_ms, solution->cost, 100 * solution->gap(),
             report.method);
}

void Run(int argc, char** argv) {
  Options options;
  int seeds = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--method") options.method = argv[i + 1];
    if (std::string_view(argv[i]) == "--seeds") seeds = std::atoi(argv[i + 1]);
  }
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const bool fused : {false, true}) {
      fmt::print("\nseed {}, {}\n{:<20} {:>5} {:>6} {:>6} {:>5} {:>11} {:>9} {:>12} {:>9}  {}\n",
                 seed, fused ? "convolutions with activations" : "plain", "shape", "nodes",
                 "before", "after", "width", "table", "ms", "cost", "gap", "method");
      for (const ShapedProblem& shaped : ShapedProblems(static_cast<uint64_t>(seed), fused)) {
        Measure(shaped, options);
      }
    }
  }
}

}  // namespace
}  // namespace fettle::solver

int main(int argc, char** argv) {
  fettle::solver::Run(argc, argv);
  return 0;
}
