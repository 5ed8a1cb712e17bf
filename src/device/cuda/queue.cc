#include "device/cuda/queue.h"

namespace fettle::cuda {
namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kNoTiming = 2;     // CU_EVENT_DISABLE_TIMING
constexpr int kRelaxed = 2;           // CU_STREAM_CAPTURE_MODE_RELAXED

}  // namespace

Recorded::~Recorded() {
  const Modules& modules = *queue_.modules_;
  const PrimaryContext::Scope scope(modules.context());
  if (ready_ != nullptr) {
    modules.api().StreamSynchronize(queue_.stream_);
    modules.api().GraphExecDestroy(ready_);
  }
  if (graph_ != nullptr) modules.api().GraphDestroy(graph_);
}

Status Recorded::Launch() {
  const Modules& modules = *queue_.modules_;
  const PrimaryContext::Scope scope(modules.context());
  queue_.is_pending_ = true;
  return modules.Check(modules.api().GraphLaunch(ready_, queue_.stream_), "launching a graph");
}

fettle::Result<std::unique_ptr<Queue>> Queue::Create(std::shared_ptr<Modules> modules) {
  std::unique_ptr<Queue> queue(new Queue(std::move(modules)));
  const Modules& owner = *queue->modules_;
  const PrimaryContext::Scope scope(owner.context());
  RETURN_IF_ERROR(
      owner.Check(owner.api().StreamCreate(&queue->stream_, kNonBlocking), "making a queue"));
  return queue;
}

Queue::~Queue() {
  if (stream_ == nullptr) return;
  const PrimaryContext::Scope scope(modules_->context());
  modules_->api().StreamSynchronize(stream_);
  modules_->api().StreamDestroy(stream_);
}

Status Queue::Launch(const cuda::Launch& launch) {
  RETURN_IF_ERROR(modules_->Load({&launch, 1}));
  const PrimaryContext::Scope scope(modules_->context());
  is_pending_ = true;
  return modules_->Enqueue(launch, stream_);
}

Status Queue::Write(Address to, const void* from, size_t bytes) {
  const PrimaryContext::Scope scope(modules_->context());
  is_pending_ = true;
  return modules_->Check(modules_->api().CopyToDeviceAsync(to, from, bytes, stream_),
                         "writing memory");
}

Status Queue::StartRead(void* to, Address from, size_t bytes) {
  const PrimaryContext::Scope scope(modules_->context());
  is_pending_ = true;
  return modules_->Check(modules_->api().CopyToHostAsync(to, from, bytes, stream_),
                         "reading memory");
}

Status Queue::Read(void* to, Address from, size_t bytes) {
  RETURN_IF_ERROR(StartRead(to, from, bytes));
  return Wait();
}

fettle::Result<std::shared_ptr<void>> Queue::Mark() {
  const Api& api = modules_->api();
  const PrimaryContext::Scope scope(modules_->context());
  Event event = nullptr;
  RETURN_IF_ERROR(modules_->Check(api.EventCreate(&event, kNoTiming), "making an event"));
  std::shared_ptr<void> mark(event, [modules = modules_](void* ended) {
    const PrimaryContext::Scope ending(modules->context());
    modules->api().EventDestroy(static_cast<Event>(ended));
  });
  RETURN_IF_ERROR(modules_->Check(api.EventRecord(event, stream_), "recording an event"));
  return mark;
}

Status Queue::WaitFor(const std::shared_ptr<void>& mark) {
  const PrimaryContext::Scope scope(modules_->context());
  return modules_->Check(modules_->api().EventSynchronize(static_cast<Event>(mark.get())),
                         "waiting for a copy");
}

std::shared_ptr<std::byte> Queue::AllocatePinned(int64_t bytes) const {
  const PrimaryContext::Scope scope(modules_->context());
  void* memory = nullptr;
  if (modules_->api().MemAllocHost(&memory, bytes) != 0) return nullptr;
  return {static_cast<std::byte*>(memory), [modules = modules_](std::byte* ended) {
            const PrimaryContext::Scope ending(modules->context());
            modules->api().MemFreeHost(ended);
          }};
}

Status Queue::Wait() {
  if (!is_pending_) return OkStatus();
  is_pending_ = false;
  const PrimaryContext::Scope scope(modules_->context());
  return modules_->Check(modules_->api().StreamSynchronize(stream_), "waiting for launches");
}

Status Queue::Capture(std::span<const cuda::Launch> launches, Graph& graph) {
  const Api& api = modules_->api();
  RETURN_IF_ERROR(modules_->Check(api.StreamBeginCapture(stream_, kRelaxed), "recording launches"));
  Status status;
  for (const cuda::Launch& launch : launches)
    if (status = modules_->Enqueue(launch, stream_); !status.ok()) break;
  const Result code = api.StreamEndCapture(stream_, &graph);
  return status.ok() ? modules_->Check(code, "recording launches") : status;
}

fettle::Result<std::unique_ptr<Recorded>> Queue::Record(std::span<const cuda::Launch> launches) {
  RETURN_IF_ERROR(modules_->Load(launches));
  const PrimaryContext::Scope scope(modules_->context());
  std::unique_ptr<Recorded> recorded(new Recorded(*this));
  RETURN_IF_ERROR(Capture(launches, recorded->graph_));
  RETURN_IF_ERROR(modules_->Check(
      modules_->api().GraphInstantiate(&recorded->ready_, recorded->graph_, 0), "making a graph"));
  return recorded;
}

}  // namespace fettle::cuda
