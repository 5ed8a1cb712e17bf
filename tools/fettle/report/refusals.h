// Why kernels do not compute groups, for people.
#pragma once

#include <span>
#include <string>

#include "planner/explain.h"

namespace fettle::tools {

/// Lines "not KERNEL, KERNEL: REASON" under the groups that they are true of: first what is true of
/// all groups, then what else is, once for all groups of which the same is true. "" where no kernel
/// was refused.
std::string RefusalsText(std::span<const planner::Explained> groups);

}  // namespace fettle::tools
