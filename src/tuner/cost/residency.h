// Where a network finds its constants again, from one run to the next.
#pragma once

#include "device/cpu/cpu_device.h"
#include "exec/plan.h"

namespace fettle::tuner {

/// Whether so many bytes, read one after the other and over again, are found in a cache, as far as
/// can be told: measured once in a process. A guest of a large machine sees all of its last cache
/// and holds a share of it. Takes as much memory, and some ten milliseconds per 64 MiB.
/// Thread-safe.
bool StaysInCaches(int64_t bytes);

/// Whether what the CPU's steps of `plan` read of constants has left the last cache when it is used
/// again: so many bytes, in their packed forms, lie between two uses of one. No step has to have
/// been run or packed.
bool ConstantsAreCold(const exec::Plan& plan, const CpuInfo& info);

}  // namespace fettle::tuner
