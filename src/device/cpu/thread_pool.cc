#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/subnormals.h"
#include "device/cpu/call_post.h"
#include "device/cpu/spin.h"

namespace fettle {
namespace {

/// Set while this thread runs a task: calls from inside stay on this lane.
thread_local bool inside_task = false;

}  // namespace

/// A call is published in one line that all workers watch, so that it costs the caller one store
/// and not one for each worker; each lane claims its tasks in a line of its own, and the caller
/// looks there whether it is through. Nothing is reset between calls, and no line is written by
/// all. Callers at the same time have a post each; what nobody claims is run by the caller, so a
/// worker that comes late, is at work for another caller or does not come at all costs time alone.
/// Threads sleep under one mutex; who sleeps says so before it looks for the last time, who changes
/// something looks for sleepers after it (both sequentially consistent), so that none sleeps
/// through a change.
class ThreadPool::Impl {
 public:
  explicit Impl(int threads);
  ~Impl();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  void Run(int64_t tasks, int threads, const FunctionRef<void(int64_t, int)>& task);

 private:
  /// Calls at the same time that workers help with; more run on their callers alone.
  static constexpr int kPosts = 4;
  /// Shares in a row in which a worker finds nothing before it leaves; the caller looks at all.
  /// Each is a line that comes from another core.
  static constexpr int kLooks = 2;

  struct alignas(64) Worker {
    std::atomic<bool> sleeps{false};
    std::condition_variable wake;
    uint64_t seen[kPosts] = {};  // notices
  };

  static void RunTasks(CallPost& post, uint64_t call, int lane, int looks);
  void Work(int index);
  int LaneOf(int worker, const Notice& notice) const;
  bool TakePart(int index);
  void AwaitNotice(int index);
  void WakeLanes(const Notice& notice);
  CallPost* TakePost();
  Notice Publish(CallPost& post, int lanes);
  void AwaitLanes(CallPost& post, const Notice& notice);

  std::atomic<bool> stop_{false};
  std::atomic<int> sleeping_workers_{0}, sleeping_callers_{0};
  std::mutex sleep_mutex_;
  std::condition_variable done_;
  CallPost posts_[kPosts];
  std::deque<Worker> states_;  // one for each worker
  std::vector<std::thread> workers_;
};

ThreadPool::Impl::Impl(int threads) {
  const int most = std::min(threads, Notice::kMostLanes);
  for (CallPost& post : posts_) post.shares.resize(std::max(most, 1));
  states_.resize(std::max(most - 1, 0));
  for (int i = 0; i + 1 < most; ++i) {
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
  for (Worker& worker : states_) worker.wake.notify_one();
  for (std::thread& worker : workers_) worker.join();
}

/// The lane's own share first, then what is left of others, until `looks` in a row had nothing.
void ThreadPool::Impl::RunTasks(CallPost& post, uint64_t number, int lane, int looks) {
  inside_task = true;
  const PoolCall& call = *post.call;
  for (int i = 0, empty = 0; i < call.lanes() && empty < looks; ++i) {
    const int share = (lane + i) % call.lanes();
    const int parts = call.Parts(share);
    ++empty;
    for (int part; (part = post.shares[share].Claim(number, parts)) >= 0; empty = 0)
      call.RunPart(share, part, lane);
  }
  inside_task = false;
}

/// Not below 1; from notice.lanes on the worker is none of the call's.
int ThreadPool::Impl::LaneOf(int worker, const Notice& notice) const {
  const int lane = worker - notice.first + 1;
  return lane > 0 ? lane : lane + static_cast<int>(states_.size());
}

/// Looks at all posts once; says whether there was something to do.
bool ThreadPool::Impl::TakePart(int index) {
  Worker& self = states_[index];
  for (int i = 0; i < kPosts; ++i) {
    CallPost& post = posts_[i];
    const uint64_t word = post.notice.load();
    if (word == self.seen[i]) continue;
    self.seen[i] = word;
    const Notice notice = Notice::Read(word);
    const int lane = LaneOf(index, notice);
    if (lane >= notice.lanes || !post.shares[lane].Join(notice.call)) continue;
    {
      const SubnormalScope scope(post.call->subnormals());
      RunTasks(post, notice.call, lane, kLooks);
    }
    post.shares[lane].Leave(notice.call);
    if (sleeping_callers_.load() != 0) {
      { std::lock_guard lock(sleep_mutex_); }
      done_.notify_all();
    }
    return true;
  }
  return false;
}

void ThreadPool::Impl::Work(int index) {
  while (!stop_.load()) {
    if (!SpinUntil([&] { return TakePart(index) || stop_.load(); })) AwaitNotice(index);
  }
}

/// Sleeps until a notice names this worker, or the pool stops.
void ThreadPool::Impl::AwaitNotice(int index) {
  Worker& self = states_[index];
  const auto named = [&] {
    for (int i = 0; i < kPosts; ++i) {
      const uint64_t word = posts_[i].notice.load();
      const Notice notice = Notice::Read(word);
      if (word != self.seen[i] && LaneOf(index, notice) < notice.lanes) return true;
    }
    return stop_.load();
  };
  std::unique_lock lock(sleep_mutex_);
  self.sleeps = true;
  sleeping_workers_.fetch_add(1);
  self.wake.wait(lock, named);
  sleeping_workers_.fetch_sub(1);
  self.sleeps = false;
}

void ThreadPool::Impl::WakeLanes(const Notice& notice) {
  if (sleeping_workers_.load() == 0) return;
  const auto workers = static_cast<int>(states_.size());
  for (int lane = 1; lane < notice.lanes; ++lane) {
    Worker& worker = states_[(notice.first + lane - 1) % workers];
    if (!worker.sleeps.load()) continue;
    { std::lock_guard lock(sleep_mutex_); }  // it sleeps, or has seen the notice
    worker.wake.notify_one();
  }
}

/// Null when there are as many callers as posts.
CallPost* ThreadPool::Impl::TakePost() {
  for (CallPost& post : posts_) {
    if (!post.busy.exchange(true)) return &post;
  }
  return nullptr;
}

/// Workers of other calls come last, the others in their order, so that each gets the same lane
/// every time.
Notice ThreadPool::Impl::Publish(CallPost& post, int lanes) {
  int first = 0;
  for (const CallPost& other : posts_) {
    if (&other == &post) break;
    if (other.busy.load()) first += Notice::Read(other.notice.load()).lanes - 1;
  }
  const Notice before = Notice::Read(post.notice.load());
  const Notice notice{before.call + 1, std::max(first, 0) % static_cast<int>(states_.size()),
                      lanes};
  post.notice.store(notice.word());
  return notice;
}

/// After all tasks are claimed.
void ThreadPool::Impl::AwaitLanes(CallPost& post, const Notice& notice) {
  const auto over = [&] {
    for (int lane = 1; lane < notice.lanes; ++lane) {
      if (!post.shares[lane].IsOver(notice.call)) return false;
    }
    return true;
  };
  if (over() || SpinUntil(over)) return;
  std::unique_lock lock(sleep_mutex_);
  sleeping_callers_.fetch_add(1);
  done_.wait(lock, over);
  sleeping_callers_.fetch_sub(1);
}

void ThreadPool::Impl::Run(int64_t tasks, int threads,
                           const FunctionRef<void(int64_t, int)>& task) {
  const auto lanes = static_cast<int>(std::min<int64_t>({tasks, threads, this->threads()}));
  CallPost* const post = lanes <= 1 || inside_task ? nullptr : TakePost();
  if (post == nullptr) {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
    return;
  }
  post->call.emplace(task, tasks, lanes);
  const Notice notice = Publish(*post, lanes);
  WakeLanes(notice);
  RunTasks(*post, notice.call, 0, lanes);
  AwaitLanes(*post, notice);
  post->busy.store(false);
}

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::threads() const { return impl_->threads(); }

void ThreadPool::ParallelFor(int64_t tasks, int threads, FunctionRef<void(int64_t, int)> task) {
  impl_->Run(tasks, threads, task);
}

}  // namespace fettle
