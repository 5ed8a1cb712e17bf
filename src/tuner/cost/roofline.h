// Lower bounds of times from the machine's measured ceilings.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "planner/catalogue.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Ceilings of one core by the names of kernels/cpu/probe, in operations or bytes per second.
using Ceilings = std::map<std::string, double, std::less<>>;

/// Where a store keeps the ceiling `name` of this device, as Row::median_us.
RowKey CeilingKey(std::string_view name, const CpuDevice& device);

/// The ceilings that `store` keeps for this device; probes (about 100 ms) and keeps them where it
/// has none.
Ceilings LoadCeilings(const CpuDevice& device, Store& store);

/// Microseconds that `work` takes on `threads` threads at the ceilings: the larger of its
/// arithmetic at the ceiling that limits it and its bytes, from the nearest memories that hold
/// them.
double CeilingMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                           const CpuInfo& info);

/// What `work` takes at least: the same less 10 % for what a probe may miss, and no less than one
/// launch.
double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info);

/// What the entry's kernel says of its work, or the operators' multiply-adds and the operands'
/// bytes.
kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry);

}  // namespace fettle::tuner
