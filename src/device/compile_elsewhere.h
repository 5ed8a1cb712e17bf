// Compiling for a device in other processes: what tuning does, where a compiler that hangs or dies
// must not end the search, and what a first start does, where drivers compile one program after the
// other in each process.
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

struct CompileProcesses {
  /// Starts a process that calls kernels::ServeCompiles for the same device.
  std::vector<std::string> command;
  /// One that takes longer is killed, the program refused and remembered as one that does not
  /// build.
  double limit_seconds = 60;
  int at_once = 1;
  /// Once it is set (it may be null) all are killed, and programs fail with kCancelled.
  const std::atomic<bool>* cancelled = nullptr;
  /// The thread that asks first compiles in this process until one of the others has compiled
  /// something: a single program costs no process.
  bool first_here = false;
  /// The folder of kept programs, as in OpenOptions. Where nothing is kept there, all processes
  /// start at once, beside what comes before the first program; else each when it is needed.
  const char* programs = nullptr;
};

/// How many programs this process has compiled elsewhere at once.
void SetCompilesAtOnce(int at_once);
int CompilesAtOnce();

/// Calls `prepare` with each number below `count`, several at once, so that what needs those
/// programs later finds them. Some wait for a program that another has asked for: there are more
/// of them than programs are compiled elsewhere at once. Nothing where that is less than two:
/// compilers of this process are to be blamed for one program at a time.
void PrepareAhead(int64_t count, const std::function<void(int64_t)>& prepare);

}  // namespace fettle
