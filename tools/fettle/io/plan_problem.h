// The solver's problem as a file: dumped for a model, and solved without one.
#pragma once

#include <cstdint>
#include <string>

#include "solver/problem/problem.h"

namespace fettle::tools {

struct ProblemOptions {
  std::string file;
  std::string solver = "auto";
  double seconds = 60;  // for branch and bound
  uint64_t seed = 0;
  bool json = false;
};

/// Solves what `plan --dump-problem` wrote, or an instance of the IOPDDL contest (JSON), plain or
/// gzipped, and prints the solution. Returns the exit code.
int SolveProblemFile(const ProblemOptions& options);

/// Adds the nodes, tensors and groups of `segment` behind those of `all`; limits stay.
void Append(const solver::Problem& segment, solver::Problem& all);

}  // namespace fettle::tools
