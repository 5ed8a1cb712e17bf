// How many threads a step of the CPU is worth.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// How many of `threads` should share a step with this work, before anything is measured. Fewer
/// than all where the work, at usual rates of a core, takes less time than to wake more of them and
/// wait for them.
int ThreadsWorthWaking(const Work& alone, int threads);

}  // namespace fettle::kernels
