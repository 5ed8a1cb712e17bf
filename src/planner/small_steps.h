// Steps that are over before all threads have woken up.
#pragma once

#include "planner/choices.h"

namespace fettle::planner {

/// How many of `threads` share `choice` for `group` (the graph of GroupChoices::fragment) in plans
/// made before anything is measured: kernels::ThreadsWorthWaking of its work on the CPU, elsewhere
/// all.
int ThreadsWorthWaking(const Choice& choice, const std::shared_ptr<const ir::Graph>& group,
                       int threads);

}  // namespace fettle::planner
