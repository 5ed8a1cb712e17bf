// Compiling for a device in other processes. Tuning does so, because a compiler that hangs or dies
// must not end the search. A first start does so, because drivers compile programs one after the
// other within a process.
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
  /// A compilation that takes longer is killed. The program is refused, and remembered as one that
  /// does not build.
  double limit_seconds = 60;
  int at_once = 1;
  /// Once this is set (it may be null), all are killed and programs fail with kCancelled.
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

/// Calls `prepare` with each number below `count`, several at once, so that the programs are built
/// before they are needed. It runs more calls than programs are compiled elsewhere at once, because
/// some wait for a program that another call asked for. Does nothing where fewer than two programs
/// are compiled at once: compilers of this process get one program at a time, so that it is clear
/// which one they fail on.
void PrepareAhead(int64_t count, const std::function<void(int64_t)>& prepare);

}  // namespace fettle
