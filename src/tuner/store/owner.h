// Which process began something in a database that several share, and whether it still runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fettle::tuner {

/// "BOOT-NAMESPACE PID START": process ids repeat, start times and boots tell them apart.
std::string ThisProcess();

/// Whether the process of that name is gone. Ids of another boot, machine or container mean nothing
/// here; there it counts as gone after an hour, longer than any first build and launch.
bool IsGone(std::string_view owner, int64_t age_seconds);

}  // namespace fettle::tuner
