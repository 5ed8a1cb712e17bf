#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/subnormals.h"

namespace fettle {
namespace {

/// How long a lane without work looks for more before it sleeps: longer than the gap between two
/// operators of a network, short enough that an idle process burns nothing worth mentioning.
constexpr int64_t kSpinNs = 40'000;
/// Pauses between two looks at the clock.
constexpr int kPausesPerClock = 16;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done` or the time is over; says whether it was done.
template <typename Done>
bool SpinUntil(Done done) {
  const int64_t deadline = NowNs() + kSpinNs;
  do {
    for (int i = 0; i < kPausesPerClock; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (NowNs() < deadline);
  return false;
}

/// Set while this thread runs a task: calls from inside stay on this lane.
thread_local bool inside_task = false;

}  // namespace

/// Calls in progress form a list on their callers' stacks, under a spin lock that each lane takes
/// once for a call, to join it. The caller runs every task that nobody else claims, so a worker
/// that comes late or not at all costs time alone. Threads sleep under a mutex of their own; who
/// sleeps says so before it looks for the last time, who changes something looks for sleepers after
/// it (both sequentially consistent), so that none sleeps through a change.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads);
  ~Impl();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void Run(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task);

 private:
  /// For sections of a few instructions: waiting for a mutex that others hold puts threads to
  /// sleep, which takes longer than a whole small operator.
  class SpinLock {
   public:
    void lock() {
      int looks = 0;
      while (held_.exchange(true, std::memory_order_acquire)) {
        while (held_.load(std::memory_order_relaxed)) {
          Pause();
          // Whoever holds it may have lost its core.
          if (++looks % kPausesPerYield == 0) std::this_thread::yield();
        }
      }
    }
    void unlock() { held_.store(false, std::memory_order_release); }

   private:
    static constexpr int kPausesPerYield = 128;
    std::atomic<bool> held_{false};
  };

  /// Neighbouring tasks that a lane claims before it helps others: operators that follow each other
  /// cut their tensors alike, so that a core finds in its caches what it wrote there.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;

    bool Claim(int64_t& task) {
      // Lanes that look for what is left would count on for ever.
      if (IsEmpty()) return false;
      task = next.fetch_add(1, std::memory_order_relaxed);
      return task < end;
    }
    bool IsEmpty() const { return next.load(std::memory_order_relaxed) >= end; }
  };

  /// With more lanes than this some begin in one share.
  static constexpr int kMostShares = 32;

  struct Call {
    /// By reference: a FunctionRef made of a parameter would refer to that, not to its function.
    Call(int64_t tasks, int lanes, const FunctionRef<void(int64_t, int)>& task);
    bool IsOut() const;  // no task is left to claim

    FunctionRef<void(int64_t, int)> task;
    int lanes;  // at most so many, the caller included
    Subnormals subnormals = CurrentSubnormals();
    int joined = 1;               // lanes handed out so far; guarded by calls_lock_
    Call* following = nullptr;    // guarded by calls_lock_
    std::atomic<int> working{0};  // workers that have joined and not left
    int num_shares;
    Share shares[kMostShares];
  };

  static void RunTasks(Call& call, int lane);
  void Work(int worker);
  Call* Join(int worker, int& lane, uint64_t& seen);
  void Leave(Call& call);
  void AwaitCall(uint64_t seen);
  void Publish(Call& call);
  void Retire(Call& call);

  SpinLock calls_lock_;
  Call* calls_ = nullptr;        // guarded by calls_lock_
  std::atomic<int> callers_{0};  // in calls_
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint64_t> epoch_{0};  // raised whenever workers should look at calls_
  alignas(64) std::atomic<int> spinning_{0};    // workers that will look before they sleep
  std::atomic<int> sleeping_{0}, sleeping_callers_{0};
  std::mutex sleep_mutex_;
  std::condition_variable work_, done_;
  std::vector<std::thread> workers_;
};

ThreadPool::Impl::Impl(int threads) {
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { Work(i); });
    } catch (const std::system_error&) {
      break;  // the system refuses more threads: make do with those that started
    }
  }
}

ThreadPool::Impl::~Impl() {
  stop_ = true;
  { std::lock_guard lock(sleep_mutex_); }
  work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

ThreadPool::Impl::Call::Call(int64_t tasks, int lanes, const FunctionRef<void(int64_t, int)>& task)
    : task(task), lanes(lanes), num_shares(std::min(lanes, kMostShares)) {
  const int64_t whole = tasks / num_shares, larger = tasks % num_shares;
  int64_t begin = 0;
  for (int i = 0; i < num_shares; ++i) {
    shares[i].next.store(begin, std::memory_order_relaxed);
    shares[i].end = begin += whole + (i < larger ? 1 : 0);
  }
}

bool ThreadPool::Impl::Call::IsOut() const {
  return std::all_of(shares, shares + num_shares,
                     [](const Share& share) { return share.IsEmpty(); });
}

/// The lane's own share first, then what is left of the others.
void ThreadPool::Impl::RunTasks(Call& call, int lane) {
  inside_task = true;
  for (int i = 0; i < call.num_shares; ++i) {
    Share& share = call.shares[(lane + i) % call.num_shares];
    for (int64_t task = 0; share.Claim(task);) call.task(task, lane);
  }
  inside_task = false;
}

/// Takes a seat in a call that has tasks and seats left; null where there is none. A call for all
/// lanes gives each worker the same seat every time. `seen`: the epoch that was looked at.
ThreadPool::Impl::Call* ThreadPool::Impl::Join(int worker, int& lane, uint64_t& seen) {
  std::lock_guard lock(calls_lock_);
  seen = epoch_.load();
  for (Call* call = calls_; call != nullptr; call = call->following) {
    if (call->joined == call->lanes || call->IsOut()) continue;
    lane = call->lanes == threads() ? worker : call->joined;
    ++call->joined;
    call->working.fetch_add(1, std::memory_order_relaxed);
    return call;
  }
  return nullptr;
}

/// Gives the seat back; `call` may be gone as soon as it is counted out.
void ThreadPool::Impl::Leave(Call& call) {
  if (call.working.fetch_sub(1) > 1 || sleeping_callers_.load() == 0) return;
  { std::lock_guard lock(sleep_mutex_); }
  done_.notify_all();
}

/// Returns when workers should look at the calls again.
void ThreadPool::Impl::AwaitCall(uint64_t seen) {
  const auto changed = [&] { return epoch_.load() != seen || stop_.load(); };
  spinning_.fetch_add(1, std::memory_order_relaxed);
  const bool soon = SpinUntil(changed);
  spinning_.fetch_sub(1, std::memory_order_relaxed);
  if (soon) return;
  std::unique_lock lock(sleep_mutex_);
  sleeping_.fetch_add(1);
  work_.wait(lock, changed);
  sleeping_.fetch_sub(1);
}

void ThreadPool::Impl::Work(int worker) {
  while (!stop_.load()) {
    int lane = 0;
    uint64_t seen = 0;
    if (Call* call = Join(worker, lane, seen)) {
      {
        const SubnormalScope scope(call->subnormals);
        RunTasks(*call, lane);
      }
      Leave(*call);
      if (callers_.load(std::memory_order_relaxed) > 1) continue;  // another may have seats left
    }
    AwaitCall(seen);
  }
}

void ThreadPool::Impl::Publish(Call& call) {
  {
    std::lock_guard lock(calls_lock_);
    call.following = calls_;
    calls_ = &call;
    callers_.fetch_add(1, std::memory_order_relaxed);
    epoch_.fetch_add(1);
  }
  const int wake =
      std::min(call.lanes - 1 - spinning_.load(std::memory_order_relaxed), sleeping_.load());
  if (wake <= 0) return;
  { std::lock_guard lock(sleep_mutex_); }  // whoever is about to sleep sleeps, or has seen the call
  for (int i = 0; i < wake; ++i) work_.notify_one();
}

/// Closes the call to new lanes and waits for those inside.
void ThreadPool::Impl::Retire(Call& call) {
  {
    std::lock_guard lock(calls_lock_);
    Call** link = &calls_;
    while (*link != &call) link = &(*link)->following;
    *link = call.following;
    callers_.fetch_sub(1, std::memory_order_relaxed);
  }
  const auto done = [&] { return call.working.load() == 0; };
  if (done() || SpinUntil(done)) return;
  std::unique_lock lock(sleep_mutex_);
  sleeping_callers_.fetch_add(1);
  done_.wait(lock, done);
  sleeping_callers_.fetch_sub(1);
}

void ThreadPool::Impl::Run(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task) {
  const auto lanes = static_cast<int>(std::min<int64_t>({tasks, threads, this->threads()}));
  if (lanes <= 1 || inside_task) {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  Call call(tasks, lanes, task);
  Publish(call);
  RunTasks(call, 0);
  Retire(call);
}

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::threads() const { return impl_->threads(); }

void ThreadPool::ParallelFor(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task) {
  impl_->Run(tasks, threads, task);
}

}  // namespace fettle
