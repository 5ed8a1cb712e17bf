// Compiling for a device in another process: what tuning does, where a compiler that hangs or dies
// must not end the search.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"

namespace fettle {

/// Has the programs of `accelerator` compiled by processes, up to `at_once` of them, that `command`
/// starts and that come to ServeCompiles for the same device; one that takes over `limit_seconds`
/// is killed, the program refused and remembered as one that does not build; once `cancelled`
/// (which may be null) all are, and programs fail with kCancelled. Holds in this whole process, for
/// one device at a time, until the returned object goes. Null where the device compiles nothing.
std::shared_ptr<void> CompileElsewhere(const Device* accelerator, std::vector<std::string> command,
                                       double limit_seconds, int at_once,
                                       const std::atomic<bool>* cancelled);

/// How many programs this process has compiled elsewhere at once.
void SetCompilesAtOnce(int at_once);
int CompilesAtOnce();

/// Calls `prepare` with each number below `count`, as many of them at once as are compiled
/// elsewhere, so that what needs those programs later finds them. Nothing where it is less than
/// two: compilers of this process are to be blamed for one program at a time.
void PrepareAhead(int64_t count, const std::function<void(int64_t)>& prepare);

/// What `command` comes to: compiles for `accelerator` what standard input asks for, until that is
/// closed. Returns the exit code.
int ServeCompiles(const Device& accelerator);

}  // namespace fettle
