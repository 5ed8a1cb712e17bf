// Where a network finds its constants again, from one run to the next.
#pragma once

#include "device/cpu/cpu_device.h"
#include "ir/graph.h"

namespace fettle::tuner {

/// Whether so many bytes, read one after the other and over again, are found in a cache, as far as
/// can be told: measured once in a process. A guest of a large machine sees all of its last cache
/// and holds a share of it. Takes as much memory, and some ten milliseconds per 64 MiB.
/// Thread-safe.
bool StaysInCaches(int64_t bytes);

/// Whether the constants of `graph` have left the last cache when they are used again: so many
/// bytes lie between two uses of one.
bool ConstantsAreCold(const ir::Graph& graph, const CpuInfo& info);

}  // namespace fettle::tuner
