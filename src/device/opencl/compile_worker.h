// A process that compiles, so that a compiler that hangs or dies harms nothing else.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/opencl/programs.h"

namespace fettle {

/// The binary of a program for the device with that fingerprint; empty: the caller builds it.
/// kBuildFailed with the reason, which is remembered as that of a failed build is.
using ProgramCompiler = std::function<Result<std::vector<std::byte>>(const ProgramSource& source,
                                                                     std::string_view fingerprint)>;
/// Has the devices of this process ask `compiler` for what they would compile; null: they compile.
/// Where it fails otherwise than with kBuildFailed or kCancelled, a warning says so, and they do.
/// Thread-safe.
void SetProgramCompiler(ProgramCompiler compiler);
ProgramCompiler GetProgramCompiler();

/// Starts `command` with posix_spawn at Start or at the first request, and again after it has died.
/// The destructor ends it. Thread-safe. Compiles one program at a time, so that it is clear which
/// one a crash belongs to.
class CompileWorker {
 public:
  /// `command`: a program and its arguments that come to ServeCompiles on standard input.
  /// `cancelled` and `closing`, which may be null, end what is being started or compiled.
  CompileWorker(std::vector<std::string> command, double limit_seconds,
                const std::atomic<bool>* cancelled = nullptr,
                const std::atomic<bool>* closing = nullptr)
      : command_(std::move(command)),
        limit_seconds_(limit_seconds),
        cancelled_(cancelled),
        closing_(closing) {}
  ~CompileWorker();  // waits for its end
  CompileWorker(const CompileWorker&) = delete;
  CompileWorker& operator=(const CompileWorker&) = delete;

  /// Returns once the process has opened its device. Nothing where there is one already. kIo where
  /// none starts, or it does not come to its device. kCancelled.
  Status Start();
  /// The binary of a program for the device with that fingerprint; empty where the driver gives
  /// none. kBuildFailed with the compiler's log; where it took over the limit (it is killed then);
  /// or where it died twice. As Start; kIo also where it has another device.
  Result<std::vector<std::byte>> Compile(const ProgramSource& source, std::string_view fingerprint);
  /// Without waiting for its end. Not while it compiles or starts.
  void Kill() const;

 private:
  struct Answer;
  Status StartLocked();
  Status AwaitReady();
  Status CheckDevice(std::string_view fingerprint);
  /// Kills the worker and says how it ended.
  std::string End();
  Answer Ask(const ProgramSource& source);

  std::vector<std::string> command_;
  std::string fingerprint_;  // of the device that the process has opened
  double limit_seconds_;
  const std::atomic<bool>* cancelled_;
  const std::atomic<bool>* closing_;
  std::mutex mutex_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

/// The worker's side: says which device it has, reads programs from `socket`, builds each by
/// `build` (the binary, or kBuildFailed with the log) and writes what became of it, until the other
/// end is closed, which ends the process at once, a build in hand too. Returns the exit code.
int ServeCompiles(int socket, std::string_view fingerprint,
                  const std::function<Result<std::vector<std::byte>>(const ProgramSource&)>& build);

}  // namespace fettle
