#include "device/cuda/graphs.h"

#include <atomic>
#include <thread>

#include "device/cuda/module_text.h"

namespace fettle::cuda {
namespace {

constexpr unsigned kNonBlocking = 1;       // CU_STREAM_NON_BLOCKING
constexpr int kRelaxed = 2;                // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

/// Calls task(i) for i in [0, tasks) on as many threads as there are processors.
void OnThreads(size_t tasks, const std::function<void(size_t)>& task) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = 0; (i = next.fetch_add(1)) < tasks;) task(i);
  };
  std::vector<std::thread> threads;
  const size_t wanted = std::min<size_t>(tasks, std::thread::hardware_concurrency());
  for (size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

fettle::Result<std::unique_ptr<Graphs::Queue>> Graphs::Queue::Create(
    std::shared_ptr<Graphs> graphs) {
  std::unique_ptr<Queue> queue(new Queue(std::move(graphs)));
  const Graphs& owner = *queue->graphs_;
  const PrimaryContext::Scope scope(*owner.context_);
  RETURN_IF_ERROR(
      owner.Check(owner.api().StreamCreate(&queue->stream_, kNonBlocking), "making a queue"));
  return queue;
}

Graphs::Queue::~Queue() {
  if (stream_ == nullptr) return;
  const PrimaryContext::Scope scope(*graphs_->context_);
  graphs_->api().StreamSynchronize(stream_);
  graphs_->api().StreamDestroy(stream_);
}

Status Graphs::Queue::Wait() {
  if (!is_pending_) return OkStatus();
  is_pending_ = false;
  const PrimaryContext::Scope scope(*graphs_->context_);
  return graphs_->Check(graphs_->api().StreamSynchronize(stream_), "waiting for launches");
}

Graphs::Recorded::~Recorded() {
  const Graphs& graphs = *queue_.graphs_;
  const PrimaryContext::Scope scope(*graphs.context_);
  if (ready_ != nullptr) {
    graphs.api().StreamSynchronize(queue_.stream_);
    graphs.api().GraphExecDestroy(ready_);
  }
  if (graph_ != nullptr) graphs.api().GraphDestroy(graph_);
}

Status Graphs::Recorded::Launch() {
  const Graphs& graphs = *queue_.graphs_;
  const PrimaryContext::Scope scope(*graphs.context_);
  queue_.is_pending_ = true;
  return graphs.Check(graphs.api().GraphLaunch(ready_, queue_.stream_), "launching a graph");
}

Graphs::~Graphs() {
  const PrimaryContext::Scope scope(*context_);
  for (const auto& [name, program] : programs_) api().ModuleUnload(program.module);
}

fettle::Result<Graphs::Program> Graphs::Load(const Launch& launch) const {
  const std::vector<std::byte> ptx = launch.ptx();
  ASSIGN_OR_RETURN(ModuleText text,
                   ModuleTextOf({reinterpret_cast<const char*>(ptx.data()), ptx.size()}));
  Program program{.dynamic_bytes = std::move(text.dynamic_bytes)};
  const PrimaryContext::Scope scope(*context_);
  RETURN_IF_ERROR(Check(api().ModuleLoadData(&program.module, text.ptx.c_str()), launch.function));
  return program;
}

Status Graphs::LoadAll(std::span<const Launch> launches) {
  std::map<std::string_view, const Launch*> missing;
  for (const Launch& launch : launches)
    if (!programs_.contains(launch.program)) missing[launch.program] = &launch;
  const std::vector<std::pair<std::string_view, const Launch*>> all(missing.begin(), missing.end());
  std::vector<Status> statuses(all.size());
  std::mutex mutex;
  OnThreads(all.size(), [&](size_t i) {
    fettle::Result<Program> program = Load(*all[i].second);
    statuses[i] = program.status();
    const std::lock_guard lock(mutex);
    if (program.ok()) programs_[std::string(all[i].first)] = std::move(*program);
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  return OkStatus();
}

Status Graphs::Capture(const Launch& launch, Stream stream) const {
  const Program& program = programs_.find(launch.program)->second;
  const std::string name(launch.function);
  Function function = nullptr;
  RETURN_IF_ERROR(Check(api().ModuleGetFunction(&function, program.module, name.c_str()), name));
  const auto dynamic = program.dynamic_bytes.find(name);
  const auto bytes = static_cast<int>(dynamic == program.dynamic_bytes.end() ? 0 : dynamic->second);
  if (bytes > 0)
    RETURN_IF_ERROR(
        Check(api().FunctionSetAttribute(function, kMaxDynamicSharedBytes, bytes), name));
  std::vector<void*> parameters;
  for (const std::array<std::byte, 64>& parameter : launch.parameters)
    parameters.push_back(const_cast<std::byte*>(parameter.data()));
  const auto& [groups, items] = std::pair(launch.groups, launch.items);
  return Check(
      api().LaunchKernel(function, groups[0], groups[1], groups[2], items[0], items[1], items[2],
                         static_cast<unsigned>(bytes), stream, parameters.data(), nullptr),
      name);
}

Status Graphs::CaptureAll(std::span<const Launch> launches, Stream stream, Graph& graph) const {
  RETURN_IF_ERROR(Check(api().StreamBeginCapture(stream, kRelaxed), "recording launches"));
  Status status;
  for (const Launch& launch : launches)
    if (status = Capture(launch, stream); !status.ok()) break;
  const Result code = api().StreamEndCapture(stream, &graph);
  return status.ok() ? Check(code, "recording launches") : status;
}

fettle::Result<std::unique_ptr<Graphs::Recorded>> Graphs::Record(std::span<const Launch> launches,
                                                                 Queue& queue) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(LoadAll(launches));
  const PrimaryContext::Scope scope(*context_);
  std::unique_ptr<Recorded> recorded(new Recorded(queue));
  RETURN_IF_ERROR(CaptureAll(launches, queue.stream_, recorded->graph_));
  RETURN_IF_ERROR(
      Check(api().GraphInstantiate(&recorded->ready_, recorded->graph_, 0), "making a graph"));
  return recorded;
}

}  // namespace fettle::cuda
