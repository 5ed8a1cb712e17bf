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

/// Calls in progress form a list on their callers' stacks. Everything but claiming a task is under
/// the mutex, a few instructions at a time, so a lane that loses its core holds the others up only
/// if that happens inside one of those.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads);
  ~Impl();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void Run(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task);

 private:
  struct Call {
    FunctionRef<void(int64_t, int)> task;
    int64_t tasks;
    int lanes;  // at most so many, the caller included
    Subnormals subnormals;
    int joined = 1;               // lanes handed out so far; guarded by mutex_
    bool caller_sleeps = false;   // guarded by mutex_
    std::atomic<int> working{0};  // workers that have joined and not left; changed under mutex_
    std::atomic<int64_t> next{0};
    Call* following = nullptr;  // guarded by mutex_
  };

  static void RunTasks(Call& call, int lane);
  void Work();
  Call* Join(int& lane);
  void Leave(Call& call);
  void Publish(Call& call);
  void Retire(Call& call);

  std::mutex mutex_;
  std::condition_variable work_, done_;
  Call* calls_ = nullptr;  // guarded by mutex_
  int spinning_ = 0;       // workers that will look at calls_ again before they sleep; guarded
  int sleeping_ = 0;       // guarded
  bool stop_ = false;      // guarded
  std::atomic<uint64_t> epoch_{0};  // raised whenever a worker should look at calls_ again
  std::vector<std::thread> workers_;
};

ThreadPool::Impl::Impl(int threads) {
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      break;  // the system refuses more threads: make do with those that started
    }
  }
}

ThreadPool::Impl::~Impl() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    epoch_.fetch_add(1, std::memory_order_relaxed);
  }
  work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Impl::RunTasks(Call& call, int lane) {
  inside_task = true;
  for (;;) {
    const int64_t task = call.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= call.tasks) break;
    call.task(task, lane);
  }
  inside_task = false;
}

/// Takes a seat in a call that has tasks and seats left; null where there is none. Needs the mutex.
ThreadPool::Impl::Call* ThreadPool::Impl::Join(int& lane) {
  for (Call* call = calls_; call != nullptr; call = call->following) {
    if (call->joined == call->lanes || call->next.load(std::memory_order_relaxed) >= call->tasks) {
      continue;
    }
    lane = call->joined++;
    call->working.fetch_add(1, std::memory_order_relaxed);
    return call;
  }
  return nullptr;
}

/// Gives the seat back. Needs the mutex; `call` may be gone as soon as it is released.
void ThreadPool::Impl::Leave(Call& call) {
  const bool caller_sleeps = call.caller_sleeps;
  const bool last = call.working.fetch_sub(1, std::memory_order_release) == 1;
  if (last && caller_sleeps) done_.notify_all();
}

void ThreadPool::Impl::Work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    int lane = 0;
    if (Call* call = Join(lane)) {
      lock.unlock();
      {
        const SubnormalScope scope(call->subnormals);
        RunTasks(*call, lane);
      }
      lock.lock();
      Leave(*call);
      continue;
    }
    const uint64_t seen = epoch_.load(std::memory_order_relaxed);
    ++spinning_;
    lock.unlock();
    SpinUntil([&] { return epoch_.load(std::memory_order_relaxed) != seen; });
    lock.lock();
    --spinning_;
    if (epoch_.load(std::memory_order_relaxed) != seen) continue;
    ++sleeping_;
    work_.wait(lock, [&] { return epoch_.load(std::memory_order_relaxed) != seen; });
    --sleeping_;
  }
}

void ThreadPool::Impl::Publish(Call& call) {
  int wake = 0;
  {
    std::lock_guard lock(mutex_);
    call.following = calls_;
    calls_ = &call;
    epoch_.fetch_add(1, std::memory_order_relaxed);
    wake = std::min(call.lanes - 1 - spinning_, sleeping_);
  }
  for (int i = 0; i < wake; ++i) work_.notify_one();
}

/// Closes the call to new lanes and waits for those inside.
void ThreadPool::Impl::Retire(Call& call) {
  {
    std::lock_guard lock(mutex_);
    Call** link = &calls_;
    while (*link != &call) link = &(*link)->following;
    *link = call.following;
  }
  const auto done = [&] { return call.working.load(std::memory_order_acquire) == 0; };
  if (done() || SpinUntil(done)) {
    // The last worker may still be inside Leave, which reads nothing of `call` after it counted
    // itself out.
    return;
  }
  std::unique_lock lock(mutex_);
  call.caller_sleeps = true;
  done_.wait(lock, done);
}

void ThreadPool::Impl::Run(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task) {
  const auto lanes = static_cast<int>(std::min<int64_t>({tasks, threads, this->threads()}));
  if (lanes <= 1 || inside_task) {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  Call call{.task = task, .tasks = tasks, .lanes = lanes, .subnormals = CurrentSubnormals()};
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
