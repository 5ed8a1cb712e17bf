// Chooses the width of networks that the time allows, by their times on this machine.
#pragma once

#include "job/plan.h"

namespace fettle::enhance {

/// Sets the plan's network to the widest whose steps, decoding and encoding together are done at
/// the wanted rate (--fps, else the input's), to the widest of all for `--budget best`, and adds
/// the choice with the figures. Steps and encoder are timed once for each processor, size, chain
/// and number of threads, and kept in the user's cache. Leaves a network that was named.
void ChooseNetwork(const JobOptions& options, const AVFrame& frame, Plan& plan);

}  // namespace fettle::enhance
