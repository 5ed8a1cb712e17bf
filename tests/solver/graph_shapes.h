// Problems shaped like well-known networks, with made-up costs: 8 states for a tensor (4 layouts,
// 2 precisions), 11 choices for a convolution, 8 for an operator that any layout suits.
#pragma once

#include <string>
#include <vector>

#include "solver/problem/problem.h"

namespace fettle::solver {

struct ShapedProblem {
  std::string name;
  Problem problem;
};

/// ResNet, Inception, DenseNet (chained and full concats), U-Net, U-Net++, SSD, BiFPN, HRNet. The
/// same for equal seeds. With `fused`, activations are nodes of their own, and groups of a
/// convolution and its activation overlap the single nodes.
std::vector<ShapedProblem> ShapedProblems(uint64_t seed, bool fused);

}  // namespace fettle::solver
