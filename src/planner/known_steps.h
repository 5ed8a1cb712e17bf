// Steps that plans of one decision share at several shapes.
#pragma once

#include <vector>

#include "exec/plan.h"

namespace fettle::planner {

/// The steps that compute groups, without the rest of their plan: the `known` of Apply.
std::vector<exec::PlannedStep> StepsOfGroups(const exec::Plan& plan);

/// Those of `known` (StepsOfGroups of this decision's plan for another shape) whose groups are the
/// same in `plan`, and whose kernels the program of `plan` makes for all later plans. The others
/// are left empty, because most plans change what one shape changed.
std::vector<exec::PlannedStep> UnchangedSteps(std::vector<exec::PlannedStep> known,
                                              exec::Plan& plan);

}  // namespace fettle::planner
