#include "base/run_queue.h"

#include <utility>

namespace fettle {

struct RunQueue::Shared {
  Shared(std::mutex& with_turn, std::atomic<bool>& with_stops, int64_t at_most)
      : turn(with_turn), stops(with_stops), limit(at_most) {}

  bool full() const { return static_cast<int64_t>(runs.size()) >= limit; }

  std::mutex& turn;
  std::atomic<bool>& stops;
  const int64_t limit;
  std::mutex mutex;  // of all that follows, and of what runs hold; taken after `turn`
  std::condition_variable added, removed, told;
  std::deque<std::shared_ptr<Run>> runs;  // in flight; the first one works or is next
  const Run* working = nullptr;
  bool stopping = false;
  std::thread::id thread;
};

class RunQueue::Run {
 public:
  Run(std::shared_ptr<Shared> of, Work does, Tell tells)
      : shared(std::move(of)), work(std::move(does)), tell(std::move(tells)) {}

  const std::shared_ptr<Shared> shared;
  Work work;
  Tell tell;
  bool cancelled = false;
  bool is_told = false;
  Status status;  // once it leaves the queue
};

namespace {

Status Cancelled() { return Error(StatusCode::kCancelled, "the run was cancelled"); }

}  // namespace

RunQueue::RunQueue(std::mutex& turn, std::atomic<bool>& stops, int64_t limit)
    : shared_(std::make_shared<Shared>(turn, stops, limit)) {}

RunQueue::~RunQueue() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    for (const auto& run : shared_->runs)
      if (run.get() != shared_->working) run->cancelled = true;
  }
  shared_->added.notify_all();
  shared_->removed.notify_all();
  if (!thread_.joinable()) return;
  if (thread_.get_id() != std::this_thread::get_id()) {
    thread_.join();
    return;
  }
  while (!shared_->runs.empty()) ServeNext(*shared_);  // nobody else adds or takes any
  thread_.detach();
}

Result<std::shared_ptr<RunQueue::Run>> RunQueue::Add(Work work, Tell tell, bool waits) {
  auto run = std::make_shared<Run>(shared_, std::move(work), std::move(tell));
  {
    std::unique_lock lock(shared_->mutex);
    if (shared_->full() && (!waits || shared_->thread == std::this_thread::get_id()))
      return Error(StatusCode::kBusy, "{} runs are in flight, the most that the session takes",
                   shared_->limit);
    shared_->removed.wait(lock, [&] { return !shared_->full() || shared_->stopping; });
    if (shared_->stopping) return Error(StatusCode::kCancelled, "the session is being freed");
    if (!thread_.joinable()) {
      thread_ = std::thread(&RunQueue::Serve, shared_);
      shared_->thread = thread_.get_id();
    }
    shared_->runs.push_back(run);
  }
  shared_->added.notify_one();
  return run;
}

void RunQueue::Cancel(Run& run) {
  const std::lock_guard lock(run.shared->mutex);
  run.cancelled = true;
  if (run.shared->working == &run) run.shared->stops = true;
}

Status RunQueue::Wait(Run& run) {
  Shared& shared = *run.shared;
  std::unique_lock lock(shared.mutex);
  if (!run.is_told && shared.thread == std::this_thread::get_id())
    return Error(StatusCode::kBusy, "a callback cannot wait for a run that comes after it");
  shared.told.wait(lock, [&] { return run.is_told; });
  return run.status;
}

void RunQueue::Serve(const std::shared_ptr<Shared>& shared) {
  while (true) {
    {
      std::unique_lock lock(shared->mutex);
      shared->added.wait(lock, [&] { return shared->stopping || !shared->runs.empty(); });
      if (shared->runs.empty()) return;
    }
    ServeNext(*shared);
  }
}

void RunQueue::ServeNext(Shared& shared) {
  std::shared_ptr<Run> run;
  {
    const std::lock_guard lock(shared.mutex);
    run = shared.runs.front();
  }
  const Status status = Compute(shared, *run);
  run->work = {};
  shared.removed.notify_one();
  run->tell(status);
  run->tell = {};
  {
    const std::lock_guard lock(shared.mutex);
    run->is_told = true;
  }
  shared.told.notify_all();
}

Status RunQueue::Compute(Shared& shared, Run& run) {
  // A run of another thread's may hold the turn for long.
  std::unique_lock turn(shared.turn, std::defer_lock);
  std::unique_lock lock(shared.mutex);
  if (!run.cancelled) {
    lock.unlock();
    turn.lock();
    lock.lock();
  }
  if (!run.cancelled) {
    shared.working = &run;
    lock.unlock();
    run.status = run.work();
    lock.lock();
    shared.working = nullptr;
    shared.stops = false;
  }
  if (run.cancelled) run.status = Cancelled();
  shared.runs.pop_front();
  return run.status;
}

}  // namespace fettle
