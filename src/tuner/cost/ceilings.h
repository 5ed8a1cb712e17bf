// The measured ceilings of a device as a store keeps them.
#pragma once

#include <atomic>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "device/device.h"
#include "kernels/ceiling.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Ceilings by name (docs/peaks.md), the best repeat of each: of the CPU those of one core, and
/// those of several as "NAME, 8 cores".
using Ceilings = std::map<std::string, double, std::less<>>;

/// The peak of another arithmetic as a multiple of fp32 operations, where nobody has measured it: 8
/// for "int8 dot".
double UnmeasuredFactor(std::string_view ceiling);

/// Where a store keeps the ceiling `name` of this device: its median as Row::median_us, the best
/// repeat as Row::low_us, the unit as Row::reason.
RowKey CeilingKey(std::string_view name, const Device& device);

/// Keeps those that were measured: the latest median, and the best repeat of all times.
void KeepCeilings(std::span<const kernels::Ceiling> ceilings, const Device& device, Store& store);

/// The ceilings that `store` keeps for this device and bounds are made of, of one core and of
/// `threads`; where it lacks some, they are probed (about 200 ms) and kept. Empty, with a warning
/// through the log, where that fails, and where it was `cancelled`.
Ceilings LoadCeilings(const Device& device, Store& store, int threads = 1,
                      const std::atomic<bool>* cancelled = nullptr);

}  // namespace fettle::tuner
