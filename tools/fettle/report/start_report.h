// How a session came from the CPU to its device (`--start fast`).
#pragma once

#include <string>

#include "device/device.h"
#include "io/json.h"
#include "runtime/session.h"

namespace fettle::tools {

/// {stage, cpu_runs, seconds, reason}; null where the session does not start so.
Json StartJson(const runtime::StartState& start);
/// A line, or "". `named`: what --device says, where `accelerator` may be null for not open yet.
std::string StartLine(const runtime::StartState& start, const std::string& named,
                      const Device* accelerator);

}  // namespace fettle::tools
