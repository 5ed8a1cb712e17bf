#include "runtime/fast_start.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "planner/carried_plans.h"

namespace fettle::runtime {
namespace {

std::string NamesOf(const Session& session) {
  std::string names;
  const DeviceSet devices = session.devices();
  for (const Device* device : devices.beside_cpu())
    names += fmt::format("{}'{}'", names.empty() ? "" : " and ", device->name());
  return names;
}

bool RanOnTheCpuAlone(const Session& session) {
  return std::ranges::all_of(session.profile(), [](const exec::StepProfile& step) {
    return step.device == DeviceKindName(DeviceKind::kCpu);
  });
}

}  // namespace

SessionOptions OnTheCpu(SessionOptions options) {
  options.accelerators.clear();
  options.accelerator_only = false;
  options.memory = MemoryKind::kHost;
  options.plans = planner::CarriedPlans();
  return options;
}

FastStart::FastStart(const Session& on_cpu, std::unique_ptr<Session> whole, Makes makes,
                     std::string devices, int most_shapes, std::unique_ptr<std::atomic<bool>> stops)
    : model_(on_cpu.model().name()),
      makes_(std::move(makes)),
      most_shapes_(static_cast<size_t>(std::max(most_shapes, 1))),
      begin_ns_(NowNs()),
      stops_(std::move(stops)),
      devices_(whole == nullptr ? std::move(devices) : NamesOf(*whole)),
      whole_(std::move(whole)) {
  state_.stage = Stage::kOnCpu;
  Log(LogLevel::kInfo, "{}: the CPU answers while {} gets ready", model_, devices_);
  thread_ = std::thread([this] { Work(); });
}

FastStart::~FastStart() {
  {
    const std::lock_guard lock(mutex_);
    *stops_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

double FastStart::Seconds() const { return static_cast<double>(NowNs() - begin_ns_) * 1e-9; }

StartState FastStart::state() const {
  const std::lock_guard lock(mutex_);
  StartState state = state_;
  if (state.stage == Stage::kOnCpu) state.seconds = Seconds();
  return state;
}

void FastStart::ObserveShapes(const Shapes& shapes) {
  if (!watches_) return;
  const std::lock_guard lock(mutex_);
  if (shapes_.size() < most_shapes_) shapes_.push_back(shapes);
  changed_.notify_all();
}

template <typename Inputs>
void FastStart::ObserveRun(const Shapes& shapes, const Inputs& inputs) {
  const std::lock_guard lock(mutex_);
  ++state_.cpu_runs;
  if (is_ready_ || seen_.size() >= most_shapes_ || std::ranges::find(seen_, shapes) != seen_.end())
    return;
  Result<TensorMap> copies = CopiesOf(inputs);
  if (!copies.ok()) return;  // in somebody else's hands, or no memory: the next run's will do
  seen_.push_back(shapes);
  inputs_.push_back(*std::move(copies));
  changed_.notify_all();
}

void FastStart::Observe(const TensorMap& inputs) {
  if (watches_) ObserveRun(ShapesOf(inputs), inputs);
}

void FastStart::Observe(const BufferMap& inputs) {
  if (watches_) ObserveRun(ShapesOf(HostTensorsOf(inputs)), inputs);
}

std::unique_ptr<Session> FastStart::Take() {
  if (!is_ready_) return nullptr;
  const std::lock_guard lock(mutex_);
  if (whole_ == nullptr) return nullptr;
  watches_ = false;
  state_.stage = Stage::kMoved;
  state_.seconds = Seconds();
  Log(LogLevel::kInfo, "{}: moves from the CPU to {}, after {} runs and {:.1f} s", model_, devices_,
      state_.cpu_runs, state_.seconds);
  return std::move(whole_);
}

void FastStart::End(std::unique_ptr<Session> old) {
  const std::lock_guard lock(mutex_);
  old_ = std::move(old);
  changed_.notify_all();
}

void FastStart::Stay(std::string reason) {
  Log(LogLevel::kWarn, "{}: the CPU goes on, as {} cannot take over: {}", model_, devices_, reason);
  watches_ = false;
  state_.stage = Stage::kStayed;
  state_.seconds = Seconds();
  state_.reason = std::move(reason);
}

Status FastStart::MakeWhole(std::unique_lock<std::mutex>& lock) {
  if (whole_ != nullptr) return OkStatus();
  lock.unlock();
  Result<std::unique_ptr<Session>> made = makes_();
  lock.lock();
  RETURN_IF_ERROR(made.status());
  whole_ = std::move(*made);
  devices_ = NamesOf(*whole_);
  return OkStatus();
}

Status FastStart::GetReady(std::unique_lock<std::mutex>& lock) {
  RETURN_IF_ERROR(MakeWhole(lock));
  Session* const whole = whole_.get();  // nobody takes it before it is ready
  for (bool has_run = false; !has_run || !shapes_.empty() || !inputs_.empty();) {
    changed_.wait(lock, [&] { return *stops_ || !shapes_.empty() || !inputs_.empty(); });
    if (*stops_) return Error(StatusCode::kCancelled, "cancelled");
    const bool runs = !inputs_.empty();
    const TensorMap inputs = runs ? std::move(inputs_.front()) : TensorMap();
    const Shapes shapes = runs ? Shapes() : std::move(shapes_.front());
    if (runs)
      inputs_.pop_front();
    else
      shapes_.pop_front();
    lock.unlock();
    TensorMap outputs;
    const Status status = runs ? whole->Run(inputs, &outputs) : whole->Prepare(shapes);
    lock.lock();
    RETURN_IF_ERROR(status);
    has_run |= runs;
  }
  if (RanOnTheCpuAlone(*whole))
    return Error(StatusCode::kDeviceError, "nothing of the model ran there");
  return OkStatus();
}

void FastStart::Work() {
  std::unique_lock lock(mutex_);
  const Status status = GetReady(lock);
  std::unique_ptr<Session> old;
  if (status.ok()) {
    is_ready_ = true;
    changed_.wait(lock, [&] { return *stops_ || old_ != nullptr; });
    old = std::move(old_);
  } else if (!*stops_) {
    Stay(status.message());
    old = std::move(whole_);
  }
  lock.unlock();
}

}  // namespace fettle::runtime
