// The CPU's thread pool: spin-then-park workers, thread count chosen per call, several callers at
// once.
#pragma once

#include <cstdint>
#include <memory>

namespace fettle {

/// A reference to a callable that outlives the call: no allocation, one indirect call.
template <typename Signature>
class FunctionRef;
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
  FunctionRef(F&& f)  // NOLINT: implicit by design
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Workers that run tasks of one call at a time each. Thread-safe; a pool of size 1 has no workers.
class ThreadPool {
 public:
  /// `threads` counts the caller, so it starts threads - 1 workers (fewer where the system
  /// refuses).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /// Runs task(i, lane) for every i in [0, tasks) on at most `threads` lanes, the caller being lane
  /// 0, and returns when all are done. Lanes number 0 .. threads-1 and never run two tasks at once
  /// (index per-lane scratch by them). A lane claims neighbouring tasks of its own first
  /// and then what others have left, so a lane that lost its core holds up nobody for more than
  /// one. Which lane runs a task must not change its result, and all lanes treat subnormal numbers
  /// as the caller does. May be called from several threads at once, and from inside a task (then
  /// it runs on the calling lane alone).
  void ParallelFor(int64_t tasks, int threads, FunctionRef<void(int64_t task, int lane)> task);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fettle
