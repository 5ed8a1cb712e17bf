// Small random problems of every shape: shared tensors, several outputs, overlapping groups, given
// and wanted states, limits, conversions missing.
#pragma once

#include <random>

#include "solver/problem/problem.h"

namespace fettle::solver {

struct RandomShape {
  int nodes = 5;
  int states = 3;
  int choices = 3;
  bool has_errors = false;
  bool has_bytes = false;
};

/// The same for equal seeds. May have no solution.
Problem RandomProblem(uint64_t seed, const RandomShape& shape);

}  // namespace fettle::solver
