// What a solution means, step by step. A picked group runs at its step: its last node.
#pragma once

#include <vector>

#include "solver/problem/problem.h"

namespace fettle::solver {

/// Sums of errors taken in another order may differ by this share; a budget is kept within it.
inline constexpr double kErrorSlack = 1e-9;

int StepOf(const Group& group);

/// Indices into `picks` of groups that wait for each other in a circle; empty where they can run.
std::vector<int> PicksOnCycle(const Problem& problem, const std::vector<Pick>& picks);

/// OK where `solution`, whose reads are all met, keeps the error budget and the memory limit.
Status CheckLimits(const Problem& problem, const Solution& solution);

}  // namespace fettle::solver
