// What plans of one decision have in common at several shapes.
#pragma once

#include <vector>

#include "exec/plan.h"

namespace fettle::planner {

/// The steps that compute groups, without what else their plan has: what Apply takes as known.
std::vector<exec::PlannedStep> StepsOfGroups(const exec::Plan& plan);

/// Those of `known` (StepsOfGroups of another shape's plan of this decision) whose groups are the
/// same in `plan`, with a kernel that the program of `plan` makes for all that follow; the others
/// are left empty, for what one shape changed is changed by most.
std::vector<exec::PlannedStep> UnchangedSteps(std::vector<exec::PlannedStep> known,
                                              exec::Plan& plan);

}  // namespace fettle::planner
