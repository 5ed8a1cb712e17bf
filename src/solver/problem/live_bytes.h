// What a solution holds in memory, step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/problem/problem.h"

namespace fettle::solver {

/// Bytes of copies and workspace at each node of a solution whose reads are all met. Copies exist
/// from the step of their tensor's writer (given tensors: from node 0) to the last step that reads
/// them, wanted ones to the end; of a tensor that is wanted in any state the written copy stays.
std::vector<int64_t> LiveBytes(const Problem& problem, const Solution& solution);

}  // namespace fettle::solver
