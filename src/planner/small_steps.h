// Steps that end before all threads have woken up.
#pragma once

#include "planner/choices.h"

namespace fettle::planner {

/// How many of `threads` share `choice` for `group` (the graph of GroupChoices::fragment) before
/// anything is measured: on the CPU kernels::ThreadsWorthWaking of its work, elsewhere all.
int ThreadsWorthWaking(const Choice& choice, const std::shared_ptr<const ir::Graph>& group,
                       int threads);

}  // namespace fettle::planner
