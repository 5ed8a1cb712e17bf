// Compiling for a device in another process: what tuning does, where a compiler that hangs or dies
// must not end the search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"

namespace fettle {

/// Has the programs of `accelerator` compiled by a process that `command` starts and that comes to
/// ServeCompiles for the same device; one that takes over `limit_seconds` is killed, the program
/// refused and remembered as one that does not build. Holds in this whole process, for one device
/// at a time, until the returned object goes. Null where the device compiles nothing.
std::shared_ptr<void> CompileElsewhere(const Device* accelerator, std::vector<std::string> command,
                                       double limit_seconds);

/// What `command` comes to: compiles for `accelerator` what standard input asks for, until that is
/// closed. Returns the exit code.
int ServeCompiles(const Device& accelerator);

}  // namespace fettle
