// Processes that compile side by side.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/opencl/compile_worker.h"

namespace fettle {

struct CompileProcesses;

/// Several CompileWorkers, each with one program at a time. They start when all others are busy, at
/// intervals: drivers open their device for one process after the other, so that if many started
/// together all would be late. Of the waiting programs the one with the longest text comes first.
/// Thread-safe.
class CompileWorkers {
 public:
  CompileWorkers(const std::vector<std::string>& command, double limit_seconds, int at_once,
                 const std::atomic<bool>* cancelled = nullptr);
  ~CompileWorkers();
  CompileWorkers(const CompileWorkers&) = delete;
  CompileWorkers& operator=(const CompileWorkers&) = delete;

  /// Has all of them start, and does not wait for it.
  void StartAll();
  /// CompileWorker::Compile of one that is idle, which is waited for. Where none could be started,
  /// why.
  Result<std::vector<std::byte>> Compile(const ProgramSource& source, std::string_view fingerprint);
  /// Whether one of them has compiled something.
  bool has_compiled() const { return has_compiled_; }

 private:
  using Waiting = std::pair<size_t, int64_t>;  // the bytes of a text, and less for whom came later

  /// With mutex_ held, as is the next.
  void StartOne();
  bool NoneIsLeft() const {
    return !failure_.ok() && idle_.empty() && starting_ == 0 && busy_ == 0;
  }
  /// On a thread of its own, from that time on.
  void Start(CompileWorker* worker, int64_t at_ns);
  Result<CompileWorker*> Take(size_t text_bytes);
  void Return(CompileWorker* worker);

  std::vector<std::unique_ptr<CompileWorker>> workers_;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<CompileWorker*> idle_;  // the last one was busy last
  std::vector<CompileWorker*> unstarted_;
  size_t starting_ = 0, busy_ = 0;
  int64_t next_start_ns_ = 0;
  Status failure_;  // of one that did not start, after which no other does
  std::set<Waiting, std::greater<>> waiting_;
  int64_t next_ = 0;
  std::vector<std::thread> starters_;
  std::atomic<bool> has_compiled_ = false;
};

/// Programs of the first OpenClDevice that asks are compiled by CompileWorkers until the returned
/// object goes.
std::shared_ptr<void> CompileOpenClElsewhere(const CompileProcesses& processes);
/// What a CompileWorker's process does. Returns the exit code.
Result<int> ServeOpenClCompiles(std::string_view which);

}  // namespace fettle
