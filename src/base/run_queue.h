// Runs that nobody waits for: one after another in the order given, on a thread of their own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"

namespace fettle {

/// At most this many runs are in flight, waiting or running. Any thread may call any function;
/// callbacks are called on the queue's thread, which starts with the first run.
class RunQueue {
 public:
  /// The work of a run; must not throw. Destroyed before the run's callback is called.
  using Work = std::function<Status()>;
  /// Called once for each run, in the order of the runs, without locks: how the run ended.
  using Tell = std::function<void(const Status&)>;
  class Run;

  /// The most runs in flight by default.
  static constexpr int64_t kDefaultLimit = 16;

  /// `turn` is held while a run works; `stops` is set while a run that was cancelled works, so that
  /// it ends early. Both outlive the queue.
  RunQueue(std::mutex& turn, std::atomic<bool>& stops, int64_t limit);
  /// Cancels the runs that wait, waits for the one that works, and has all of them told. In a
  /// `tell` of its own: has those that wait told at once, and lets the thread end by itself.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  /// Where `limit` runs are in flight: waits for room if `waits`, else fails with kBusy, which it
  /// does in a `tell` too. A run that is told is in flight no more.
  Result<std::shared_ptr<Run>> Add(Work work, Tell tell, bool waits);

  /// Until a run begins to be told: it is told kCancelled. If it waits its work is never done; if
  /// it works, `stops` is set. Never waits.
  static void Cancel(Run& run);
  /// Waits until the run was told, and says how it ended; kBusy in a `tell` of the queue for a run
  /// whose `tell` has not returned.
  static Status Wait(Run& run);

 private:
  struct Shared;
  static void Serve(const std::shared_ptr<Shared>& shared);
  static void ServeNext(Shared& shared);
  static Status Compute(Shared& shared, Run& run);

  std::shared_ptr<Shared> shared_;  // the thread's, too
  std::thread thread_;              // guarded by the mutex of shared_
};

}  // namespace fettle
