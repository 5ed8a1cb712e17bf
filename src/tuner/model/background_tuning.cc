#include "tuner/model/background_tuning.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/plan_accuracy.h"
#include "runtime/session_parts.h"
#include "tuner/model/default_plan.h"

namespace fettle::tuner {
namespace {

/// Copies of inputs are this far apart.
constexpr int64_t kBetweenCopiesNs = 1'000'000'000;
/// Thirty years: more is no limit either, and fits a clock.
constexpr double kLongest = 1e9;

/// The calling thread and those that it starts get a tenth of a core while others have work, which
/// begins at once. Not to be undone.
void GiveWay() {
#ifdef __linux__  // where a nice value is a thread's own
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, 0, kNice);
#endif
}

}  // namespace

BackgroundTuning::BackgroundTuning(std::shared_ptr<const runtime::Model> model,
                                   runtime::SessionOptions session, BackgroundOptions options)
    : model_(std::move(model)),
      before_(std::move(session)),
      options_(std::move(options)),
      store_(*options_.store),
      pace_(options_.share, before_.threads == 0 ? GetCpuInfo().cores : before_.threads,
            cancelled_) {
  state_.stage = Stage::kWaiting;
  thread_ = std::thread([this] { Work(); });
}

BackgroundTuning::~BackgroundTuning() {
  Cancel();
  thread_.join();
}

void BackgroundTuning::Observe(const runtime::BufferMap& inputs) {
  constexpr size_t kMostShapes = 8;
  if (!observes_) return;
  Shapes shapes;
  for (const auto& [name, buffer] : inputs) shapes.emplace(name, buffer->shape());
  const std::lock_guard lock(mutex_);
  const bool known = std::ranges::find(seen_, shapes) != seen_.end();
  if (!known && seen_.size() < kMostShapes) seen_.push_back(shapes);
  const int64_t now = NowNs();
  if (!inputs_.empty() &&
      (now - observed_ns_ < kBetweenCopiesNs || runtime::ShapesOf(inputs_) != shapes))
    return;
  Result<runtime::TensorMap> copies = runtime::CopiesOf(inputs);
  if (!copies.ok()) return;  // in somebody else's hands
  inputs_ = *std::move(copies);
  observed_ns_ = now;
  changed_.notify_all();
}

bool BackgroundTuning::Exchange(std::shared_ptr<runtime::Session>& session,
                                runtime::SessionOptions& options) {
  if (!has_offer_) return false;
  const std::lock_guard lock(mutex_);
  if (!is_offered_) return false;
  has_offer_ = is_offered_ = false;
  session.swap(next_);
  options = next_options_;
  ++state_.swaps;
  changed_.notify_all();
  return true;
}

void BackgroundTuning::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

bool BackgroundTuning::Await(double seconds) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> most(std::clamp(seconds, 0.0, kLongest));
  return changed_.wait_for(lock, most, [&] { return state_.is_over(); });
}

runtime::BackgroundState BackgroundTuning::state() const {
  const std::lock_guard lock(mutex_);
  runtime::BackgroundState state = state_;
  state.measured = store_.rows();
  return state;
}

void BackgroundTuning::Set(Stage stage, std::string reason) {
  const std::lock_guard lock(mutex_);
  state_.stage = stage;
  state_.reason = std::move(reason);
  if (state_.is_over()) observes_ = false;
  changed_.notify_all();
}

void BackgroundTuning::Work() {
  const Status status = Tune();
  if (cancelled_ && !state().is_over()) {
    Set(Stage::kCancelled, "cancelled; what was measured is kept");
  } else if (!status.ok()) {
    Log(LogLevel::kWarn, "{}: tuning in the background: {}", model_->name(), status.message());
    Set(Stage::kFailed, status.message());
  }
}

std::optional<runtime::TensorMap> BackgroundTuning::AwaitInputs() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return cancelled_ || !inputs_.empty(); });
  if (cancelled_) return std::nullopt;
  return inputs_;
}

Status BackgroundTuning::Tune() {
  const std::optional<runtime::TensorMap> inputs = AwaitInputs();
  if (!inputs) return OkStatus();
  if (options_.forced_swaps > 0) return ForceSwaps(*inputs);
  Set(Stage::kMeasuring);
  ASSIGN_OR_RETURN(TuneModelResult result, Measure(*inputs));
  {
    const std::lock_guard lock(mutex_);
    const GateResult& gate = result.gate;
    state_.before_ms = gate.incumbent_us * 1e-3;
    state_.after_ms = (gate.accepted ? gate.challenger_us : gate.incumbent_us) * 1e-3;
  }
  if (cancelled_) return OkStatus();
  if (!result.gate.accepted && !options_.takes_any) {
    store_.Commit();
    Set(Stage::kKept, result.gate.reason);
    return OkStatus();
  }
  Set(Stage::kVerifying);
  return Verify(result);
}

TuneModelOptions BackgroundTuning::TuningOptions() {
  TuneModelOptions tune{.session = before_};
  tune.session.plans = nullptr;
  tune.session.cancelled = &cancelled_;
  tune.writes_package = false;
  tune.tune.level = options_.level;
  tune.now_ns = [this] { return pace_.NowNs(); };
  tune.tune.measure.now_ns = tune.gate.now_ns = tune.now_ns;
  tune.tune.measure.await = tune.gate.await = [this] { pace_.Await(); };
  tune.tune.measure.interruptions =
      tune.gate.interruptions = [this] { return pace_.Disturbances(); };
  if (options_.seconds > 0)
    tune.deadline_ns =
        pace_.NowNs() + static_cast<int64_t>(std::min(options_.seconds, kLongest) * 1e9);
  const int64_t begin = pace_.NowNs();
  tune.tune.progress = [this, begin](const TuneProgress& now) {
    const std::lock_guard lock(mutex_);
    state_.open = now.open;
    state_.worked_s = static_cast<double>(pace_.NowNs() - begin) * 1e-9;
    state_.waited_s = pace_.waited_seconds();
    return true;
  };
  return tune;
}

Result<TuneModelResult> BackgroundTuning::Measure(const runtime::TensorMap& inputs) {
  const TuneModelOptions tune = TuningOptions();
  const int64_t begin = pace_.NowNs();
  Result<TuneModelResult> result = Error(StatusCode::kInternal, "not measured");
  // A thread of its own, which gives way; what serves later must not have been started by it.
  std::thread([&] {
    if (options_.share <= 0) GiveWay();
    pace_.Await();
    result = TuneModel(model_, inputs, tune, store_);
  }).join();
  const std::lock_guard lock(mutex_);
  state_.worked_s = static_cast<double>(pace_.NowNs() - begin) * 1e-9;
  state_.waited_s = pace_.waited_seconds();
  return result;
}

Status BackgroundTuning::Verify(TuneModelResult& result) {
  const std::optional<runtime::TensorMap> inputs = AwaitInputs();
  if (!inputs) return OkStatus();
  runtime::SessionOptions old = before_, next = before_;
  old.cancelled = &cancelled_;
  next.plans = PlansOfExactly(result.book, PlansFor(*model_, before_));
  runtime::TensorMap want, got;
  pace_.Await();
  ASSIGN_OR_RETURN(auto before, NewSession(old, *inputs, &want));
  pace_.Await();
  ASSIGN_OR_RETURN(auto after, NewSession(next, *inputs, &got));
  result.session.reset();  // it kept the packed weights
  if (options_.spoils) options_.spoils(got);
  const planner::PlanAccuracy accuracy =
      runtime::CompareOutputs(got, want, runtime::LimitsFor(model_->graph(), before_.precision));
  if (!accuracy.ok) {
    const std::string reason =
        fmt::format("the new plan gives other results on a request's inputs: {}", accuracy.reason);
    Log(LogLevel::kWarn, "{}: {}", model_->name(), reason);
    Set(Stage::kRefused, reason);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const bool slower, IsSlowerThanBefore(*before, *after, *inputs));
  before.reset();
  store_.Commit();
  if (slower) {
    Set(Stage::kKept, "the previous plan is faster than the new one");
  } else if (HandOver(std::move(after), std::move(next))) {
    Set(Stage::kTuned, result.gate.reason);
  }
  return OkStatus();
}

Result<bool> BackgroundTuning::IsSlowerThanBefore(runtime::Session& before, runtime::Session& after,
                                                  const runtime::TensorMap& inputs) {
  if (before_.plans == nullptr && model_->plans() == nullptr) return false;
  runtime::TensorMap outputs;
  GateOptions gate = TuningOptions().gate;
  gate.min_gain = 0;
  ASSIGN_OR_RETURN(const GateResult result,
                   tuner::RunGate([&] { return before.Run(inputs, &outputs); },
                                  [&] { return after.Run(inputs, &outputs); }, gate));
  return result.ratio > 1;
}

Result<std::shared_ptr<runtime::Session>> BackgroundTuning::NewSession(
    const runtime::SessionOptions& options, const runtime::TensorMap& inputs,
    runtime::TensorMap* outputs) {
  ASSIGN_OR_RETURN(std::shared_ptr<runtime::Session> session,
                   runtime::Session::Create(model_, options));
  std::vector<Shapes> seen;
  {
    const std::lock_guard lock(mutex_);
    seen = seen_;
  }
  // The caller's own cancelling is not meant for this run.
  constexpr int kTries = 8;
  Status status = OkStatus();
  for (int i = 0; i < kTries && !cancelled_; ++i) {
    for (const Shapes& shapes : seen) (void)session->Prepare(shapes);
    status = session->Run(inputs, outputs);
    if (status.code() != StatusCode::kCancelled) break;
  }
  RETURN_IF_ERROR(status);
  if (cancelled_) return Error(StatusCode::kCancelled, "cancelled");
  return session;
}

bool BackgroundTuning::HandOver(std::shared_ptr<runtime::Session> session,
                                runtime::SessionOptions options) {
  std::shared_ptr<runtime::Session> old;
  std::unique_lock lock(mutex_);
  state_.stage = Stage::kHandingOver;
  next_ = std::move(session);
  next_options_ = std::move(options);
  has_offer_ = is_offered_ = true;
  changed_.wait(lock, [&] { return cancelled_ || !is_offered_; });
  const bool taken = !is_offered_;
  has_offer_ = is_offered_ = false;
  old = std::move(next_);
  lock.unlock();
  return taken;
}

Status BackgroundTuning::ForceSwaps(const runtime::TensorMap& inputs) {
  runtime::SessionOptions next = before_;
  for (int i = 0; i < options_.forced_swaps; ++i) {
    next.plans = i % 2 == 0 ? planner::PreferredPlans() : before_.plans;
    next.adapts_lanes = !next.adapts_lanes;
    runtime::TensorMap outputs;
    ASSIGN_OR_RETURN(auto session, NewSession(next, inputs, &outputs));
    if (!HandOver(std::move(session), next)) return OkStatus();
  }
  Set(Stage::kTuned, "forced");
  return OkStatus();
}

}  // namespace fettle::tuner
