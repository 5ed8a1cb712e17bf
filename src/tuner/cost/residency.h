// Where a network finds its constants again at its next run.
#pragma once

#include "device/cpu/cpu_device.h"
#include "exec/plan.h"

namespace fettle::tuner {

/// Whether that many bytes, read one after the other and over again, are found in a cache, as far
/// as can be told: measured once in a process, because a guest of a large machine sees all of its
/// last cache and holds only a share. Takes as much memory, and some ten milliseconds per 64 MiB.
/// Thread-safe.
bool StaysInCaches(int64_t bytes);

/// Whether the constants of the CPU's steps of `plan` have left the last cache when they are used
/// again: so many bytes, in their packed forms, are read between two uses of one. No step has to
/// have been run or packed.
bool ConstantsAreCold(const exec::Plan& plan, const CpuInfo& info);

}  // namespace fettle::tuner
