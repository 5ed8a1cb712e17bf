#include "runtime/session.h"

#include "runtime/fast_start.h"
#include "runtime/session_impl.h"

namespace fettle::runtime {

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Status CheckThreads(int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return OkStatus();
  return InvalidArgument("threads: expected 0 to {}, got {}", kMaxThreads, threads);
}

Result<std::unique_ptr<Session>> Session::CreateOn(std::shared_ptr<const Model> model,
                                                   const SessionOptions& options,
                                                   std::shared_ptr<MemoryBudget> budget) {
  ASSIGN_OR_RETURN(std::shared_ptr<const ir::Graph> graph, GraphFor(*model, options.extra_outputs));
  const int threads = options.threads == 0 ? GetCpuInfo().cores : options.threads;
  auto pool = std::make_shared<ThreadPool>(threads);
  std::vector<std::unique_ptr<Stream>> streams;
  for (const auto& device : options.accelerators) {
    ASSIGN_OR_RETURN(streams.emplace_back(),
                     device->NewStream({.queue_window = options.queue_window,
                                        .kernel_ms = options.kernel_ms,
                                        .timed = options.waits_for_steps,
                                        .share_out = ShareOutBy(*pool)}));
  }
  auto impl = std::make_unique<Impl>(std::move(model), std::move(graph), options, threads,
                                     std::move(pool), std::move(streams), std::move(budget));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<Session>> Session::CreateFast(const std::shared_ptr<const Model>& model,
                                                     const SessionOptions& options,
                                                     const std::shared_ptr<MemoryBudget>& budget) {
  auto stops = std::make_unique<std::atomic<bool>>(false);
  SessionOptions beside = options;
  beside.accelerator_only = false;
  beside.cancelled = stops.get();
  ASSIGN_OR_RETURN(std::unique_ptr<Session> whole, CreateOn(model, beside, budget));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, CreateOn(model, OnTheCpu(options), budget));
  session->cancelled_ = options.cancelled;
  session->start_ = std::make_unique<FastStart>(*session, std::move(whole), nullptr, "",
                                                options.max_preparations, std::move(stops));
  return session;
}

Result<std::unique_ptr<Session>> Session::CreateOpening(
    const std::shared_ptr<const Model>& model, SessionOptions on_cpu, const std::string& devices,
    const std::function<Result<SessionOptions>()>& opens) {
  on_cpu = OnTheCpu(std::move(on_cpu));
  on_cpu.starts_fast = false;
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Create(model, on_cpu));
  auto stops = std::make_unique<std::atomic<bool>>(false);
  const auto makes = [model, opens, stops = stops.get(), budget = session->impl_->budget(),
                      cores = on_cpu.threads]() -> Result<std::unique_ptr<Session>> {
    ASSIGN_OR_RETURN(SessionOptions whole, opens());
    std::erase(whole.accelerators, nullptr);
    RETURN_IF_ERROR(CheckKinds(whole.accelerators));
    if (whole.accelerators.empty())
      return Error(StatusCode::kDeviceUnavailable, "there is no device beside the CPU");
    whole.accelerator_only = false;
    whole.threads = cores;
    whole.cancelled = stops;
    return CreateOn(model, whole, budget);
  };
  session->cancelled_ = on_cpu.cancelled;
  session->start_ = std::make_unique<FastStart>(*session, nullptr, makes, devices,
                                                on_cpu.max_preparations, std::move(stops));
  return session;
}

Result<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                 SessionOptions options) {
  RETURN_IF_ERROR(CheckThreads(options.threads));
  if (options.max_memory < 0)
    return InvalidArgument("max_memory: expected 0 or more, got {}", options.max_memory);
  std::erase(options.accelerators, nullptr);
  RETURN_IF_ERROR(CheckKinds(options.accelerators));
  auto budget =
      options.max_memory > 0 ? std::make_shared<MemoryBudget>(options.max_memory) : nullptr;
  if (options.starts_fast && !options.accelerators.empty())
    return CreateFast(model, options, budget);
  return CreateOn(std::move(model), options, std::move(budget));
}

void Session::MoveIfReady() {
  if (start_ == nullptr) return;
  std::unique_ptr<Session> whole = start_->Take();
  if (whole == nullptr) return;
  whole->impl_->SetCancelledBy(cancelled_);
  {
    const std::lock_guard lock(move_mutex_);
    impl_.swap(whole->impl_);
  }
  start_->End(std::move(whole));
}

Status Session::Prepare(const std::map<std::string, Shape>& input_shapes) {
  const MemoryScope scope(impl_->budget());
  if (start_ != nullptr) start_->ObserveShapes(input_shapes);
  return impl_->Prepare(input_shapes);
}
Status Session::Run(const TensorMap& inputs, TensorMap* outputs) {
  MoveIfReady();
  const MemoryScope scope(impl_->budget());
  const Status status = impl_->Run(inputs, outputs);
  if (start_ != nullptr && status.ok()) start_->Observe(inputs);
  return status;
}
Status Session::PrepareOn(const BufferMap& inputs, const BufferMap& outputs) {
  const MemoryScope scope(impl_->budget());
  if (start_ != nullptr) start_->ObserveShapes(ShapesOf(HostTensorsOf(inputs)));
  return impl_->PrepareOn(inputs, outputs);
}
Status Session::RunOn(const BufferMap& inputs, const BufferMap& outputs, TensorMap* results) {
  MoveIfReady();
  const MemoryScope scope(impl_->budget());
  const Status status = impl_->RunOn(inputs, outputs, results);
  if (start_ != nullptr && status.ok()) start_->Observe(inputs);
  return status;
}
StartState Session::start() const { return start_ == nullptr ? StartState() : start_->state(); }
int64_t Session::host_ns() const { return impl_->host_ns(); }
void Session::Cancel() {
  const std::lock_guard lock(move_mutex_);
  impl_->Cancel();
}
const std::vector<exec::StepProfile>& Session::profile() const { return impl_->profile(); }
int Session::threads() const { return impl_->context().limits.threads; }
int Session::lanes() const { return impl_->context().stream.threads(); }
Subnormals Session::subnormals() const { return impl_->context().stream.subnormals(); }
const Model& Session::model() const { return impl_->model(); }

DeviceSet Session::devices() const { return impl_->context().devices; }
const planner::Limits& Session::limits() const { return impl_->context().limits; }

Transfers Session::transfers() const {
  Transfers sum;
  for (const auto& stream : impl_->context().accelerators) {
    const Transfers one = stream->transfers();
    sum.copies += one.copies;
    sum.copied_bytes += one.copied_bytes;
    sum.maps += one.maps;
    sum.conversions += one.conversions;
  }
  return sum;
}

MemoryInfo Session::memory() const {
  const exec::WorkMemory& memory = impl_->context().memory;
  return {memory.arena_bytes(), model().weight_bytes(), model().packed().bytes(),
          memory.device_bytes(), memory.live_bytes()};
}

const exec::PreparationTimes& Session::preparation() const { return impl_->context().preparation; }

}  // namespace fettle::runtime
