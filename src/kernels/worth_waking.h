// How many threads a step of the CPU is worth.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// How many of `threads` share a step that does this work before anything is measured: all, or
/// fewer where the work, at usual rates of a core, is less than what waking more of them and
/// waiting for them takes.
int ThreadsWorthWaking(const Work& alone, int threads);

}  // namespace fettle::kernels
