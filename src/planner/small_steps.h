// Steps that are over before other threads have woken up.
#pragma once

#include "planner/choices.h"

namespace fettle::planner {

/// Whether `choice` for `group` (GroupChoices::fragment.graph) is a kernel of the CPU with so little to
/// do, by its work and usual rates of one core, that sharing it among threads takes longer. For
/// plans made before anything is measured; measuring decides between one thread and all.
bool IsTooSmallToShare(const Choice& choice, const std::shared_ptr<const ir::Graph>& group);

}  // namespace fettle::planner
