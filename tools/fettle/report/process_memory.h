// What this process holds in memory, from /proc.
#pragma once

#include <cstdint>

namespace fettle::tools {

/// Resident bytes now, and the most since the start or the last ResetPeak; 0 where the system does
/// not say.
int64_t ResidentBytes();
int64_t PeakResidentBytes();
/// Lets PeakResidentBytes start again from now, where the system allows it.
void ResetPeak();

}  // namespace fettle::tools
