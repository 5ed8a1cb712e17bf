// What a solution means, step by step. A picked group runs at its step: its last node.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/problem.h"

namespace fettle::solver {

/// Sums of errors taken in another order may differ by this share; a budget is kept within it.
inline constexpr double kErrorSlack = 1e-9;

int StepOf(const Group& group);

/// Indices into `picks` of groups that wait for each other in a circle; empty where they can run.
std::vector<int> PicksOnCycle(const Problem& problem, const std::vector<Pick>& picks);

/// Bytes of copies and workspace at each node of a solution whose reads are all met. Copies exist
/// from the step of their tensor's writer (given tensors: from node 0) to the last step that reads
/// them, wanted ones to the end; of a tensor that is wanted in any state the written copy stays.
std::vector<int64_t> LiveBytes(const Problem& problem, const Solution& solution);

/// OK where `solution`, whose reads are all met, keeps the error budget and the memory limit.
Status CheckLimits(const Problem& problem, const Solution& solution);

}  // namespace fettle::solver
