#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
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

/// Each worker has a seat: one word in a line of its own, which it watches, callers offer calls in,
/// and callers wait for. So lanes neither queue for a lock nor count on one line, which takes
/// longer than a small operator where there are many. The caller runs every task that nobody else
/// claims, and takes back offers that were not taken, so a worker that comes late or not at all
/// costs time alone; one that is at work for another caller is passed over. Threads sleep under one
/// mutex; who sleeps says so before it looks for the last time, who changes something looks for
/// sleepers after it (both sequentially consistent), so that none sleeps through a change.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads);
  ~Impl();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void Run(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task);

 private:
  /// Neighbouring tasks that a lane claims before it helps others: operators that follow each other
  /// cut their tensors alike, so that a core finds in its caches what it wrote there.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;

    bool Claim(int64_t& task) {
      // Lanes that look for what is left would count on for ever.
      if (next.load(std::memory_order_relaxed) >= end) return false;
      task = next.fetch_add(1, std::memory_order_relaxed);
      return task < end;
    }
  };

  /// With more lanes than this some begin in one share.
  static constexpr int kMostShares = 32;

  /// What a seat holds: nothing, or a call's address, the lane that is offered below it and kTaken
  /// once the worker has taken that.
  using Offer = uintptr_t;
  static constexpr Offer kIdle = 0, kTaken = 2048, kCallAlignment = 2 * kTaken;
  static constexpr int kMostLanes = static_cast<int>(kTaken);

  struct alignas(kCallAlignment) Call {
    /// By reference: a FunctionRef made of a parameter would refer to that, not to its function.
    Call(int64_t tasks, int lanes, const FunctionRef<void(int64_t, int)>& task);
    Offer address() const { return reinterpret_cast<Offer>(this); }
    static Call* Of(Offer offer) { return reinterpret_cast<Call*>(offer & ~(kCallAlignment - 1)); }

    FunctionRef<void(int64_t, int)> task;
    int lanes;  // at most so many, the caller included
    Subnormals subnormals = CurrentSubnormals();
    int num_shares;
    Share shares[kMostShares];
  };

  struct alignas(64) Seat {
    std::atomic<Offer> offer{kIdle};
    std::atomic<bool> sleeps{false};
    std::condition_variable wake;
  };

  static void RunTasks(Call& call, int lane);
  void Work(Seat& seat);
  void AwaitOffer(Seat& seat);
  void OfferSeats(Call& call);
  void Retire(Call& call);

  std::atomic<bool> stop_{false};
  std::atomic<int> sleeping_callers_{0};
  std::mutex sleep_mutex_;
  std::condition_variable done_;
  std::deque<Seat> seats_;  // one for each worker
  std::vector<std::thread> workers_;
};

ThreadPool::Impl::Impl(int threads) {
  for (int i = 1; i < std::min(threads, kMostLanes); ++i) {
    Seat& seat = seats_.emplace_back();
    try {
      workers_.emplace_back([this, &seat] { Work(seat); });
    } catch (const std::system_error&) {
      seats_.pop_back();
      break;  // the system refuses more threads: make do with those that started
    }
  }
}

ThreadPool::Impl::~Impl() {
  stop_ = true;
  { std::lock_guard lock(sleep_mutex_); }
  for (Seat& seat : seats_) seat.wake.notify_one();
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

/// The lane's own share first, then what is left of the others.
void ThreadPool::Impl::RunTasks(Call& call, int lane) {
  inside_task = true;
  for (int i = 0; i < call.num_shares; ++i) {
    Share& share = call.shares[(lane + i) % call.num_shares];
    for (int64_t task = 0; share.Claim(task);) call.task(task, lane);
  }
  inside_task = false;
}

/// Returns when there is an offer, or the pool stops.
void ThreadPool::Impl::AwaitOffer(Seat& seat) {
  const auto changed = [&] { return seat.offer.load() != kIdle || stop_.load(); };
  if (SpinUntil(changed)) return;
  std::unique_lock lock(sleep_mutex_);
  seat.sleeps = true;
  seat.wake.wait(lock, changed);
  seat.sleeps = false;
}

void ThreadPool::Impl::Work(Seat& seat) {
  while (!stop_.load()) {
    Offer offer = seat.offer.load();
    if (offer == kIdle) {
      AwaitOffer(seat);
      continue;
    }
    if (!seat.offer.compare_exchange_strong(offer, offer | kTaken)) continue;  // taken back
    Call& call = *Call::Of(offer);
    {
      const SubnormalScope scope(call.subnormals);
      RunTasks(call, static_cast<int>(offer - call.address()));
    }
    seat.offer.store(kIdle);  // `call` may be gone from here on
    if (sleeping_callers_.load() == 0) continue;
    { std::lock_guard lock(sleep_mutex_); }
    done_.notify_all();
  }
}

/// To idle workers in their order, so that each gets the same lane every time.
void ThreadPool::Impl::OfferSeats(Call& call) {
  const size_t wanted = std::min(seats_.size(), static_cast<size_t>(call.lanes - 1));
  // All lines come at once, not each when its turn has come.
  for (size_t i = 0; i < wanted; ++i) __builtin_prefetch(&seats_[i].offer, 1);
  Offer lane = 1;
  for (auto seat = seats_.begin(); seat != seats_.end() && lane < Offer(call.lanes); ++seat) {
    Offer idle = kIdle;
    if (!seat->offer.compare_exchange_strong(idle, call.address() + lane)) continue;
    ++lane;
    if (!seat->sleeps.load()) continue;
    { std::lock_guard lock(sleep_mutex_); }  // it sleeps, or has seen the offer
    seat->wake.notify_one();
  }
}

/// Takes back what nobody took, and waits for those at work.
void ThreadPool::Impl::Retire(Call& call) {
  const auto is_here = [&](Offer offer) { return Call::Of(offer) == &call; };
  for (Seat& seat : seats_) {
    Offer offer = seat.offer.load();
    if (is_here(offer) && (offer & kTaken) == 0) seat.offer.compare_exchange_strong(offer, kIdle);
  }
  const auto done = [&] {
    return std::none_of(seats_.begin(), seats_.end(),
                        [&](const Seat& seat) { return is_here(seat.offer.load()); });
  };
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
  OfferSeats(call);
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
