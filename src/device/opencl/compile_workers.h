// Processes that compile side by side.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/opencl/compile_worker.h"

namespace fettle {

class Device;
struct CompileProcesses;

/// So many CompileWorkers, each with one program at a time; one starts when all others are busy.
/// Thread-safe.
class CompileWorkers {
 public:
  CompileWorkers(const std::vector<std::string>& command, std::string_view fingerprint,
                 double limit_seconds, int at_once, const std::atomic<bool>* cancelled = nullptr);

  ~CompileWorkers();

  /// CompileWorker::Compile of one that is idle, which is waited for.
  Result<std::vector<std::byte>> Compile(const ProgramSource& source);
  /// Whether one of them has compiled something.
  bool has_compiled() const { return has_compiled_; }

 private:
  std::vector<std::unique_ptr<CompileWorker>> workers_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<CompileWorker*> idle_;  // guarded by mutex_; the last one was busy last
  std::atomic<bool> has_compiled_ = false;
};

/// Of an OpenClDevice: its programs are compiled by CompileWorkers until the returned object goes.
std::shared_ptr<void> CompileOpenClElsewhere(const Device& device,
                                             const CompileProcesses& processes);
/// What a CompileWorker's process does. Returns the exit code.
Result<int> ServeOpenClCompiles(std::string_view which);

}  // namespace fettle
