// Where a network finds its constants again, from one run to the next.
#pragma once

#include "device/cpu/cpu_device.h"
#include "ir/graph.h"

namespace fettle::tuner {

/// Whether the constants of `graph` have left the last cache when they are used again: so many
/// bytes lie between two uses of one.
bool ConstantsAreCold(const ir::Graph& graph, const CpuInfo& info);

}  // namespace fettle::tuner
