#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

size_t ItemsOf(const std::array<size_t, 3>& lws) { return lws[0] * lws[1] * lws[2]; }

/// What drivers say of a work-group that is too large for a kernel's registers or local memory.
bool IsGroupRefused(cl_int code) {
  return code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE ||
         code == CL_OUT_OF_RESOURCES;
}

}  // namespace

double DurationMs(const OpenClApi& api, cl_event event) {
  cl_ulong start = 0, end = 0;
  if (api.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start,
                                nullptr) != CL_SUCCESS ||
      api.GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr) !=
          CL_SUCCESS)
    return 0;
  return end > start ? static_cast<double>(end - start) * 1e-6 : 0;
}

OpenClStream::OpenClStream(std::shared_ptr<const OpenClDevice> device, cl_command_queue queue,
                           const StreamOptions& options)
    : device_(std::move(device)), queue_(queue), options_(options) {}

Result<std::unique_ptr<OpenClStream>> OpenClStream::Create(
    std::shared_ptr<const OpenClDevice> device, const StreamOptions& wanted) {
  StreamOptions options = wanted;
  if (options.queue_window == 0) options.queue_window = device->pacing().queue_window;
  if (options.kernel_ms == 0) options.kernel_ms = device->pacing().kernel_ms;
  cl_int code = CL_SUCCESS;
  const cl_command_queue_properties properties =
      options.kernel_ms > 0 || options.timed ? CL_QUEUE_PROFILING_ENABLE : 0;
  cl_command_queue queue =
      device->api().CreateCommandQueue(device->context(), device->id(), properties, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: making a command queue"));
  std::unique_ptr<OpenClStream> made(new OpenClStream(std::move(device), queue, options));
  if (made->device().facts().mma.available) RETURN_IF_ERROR(made->MakeTickets());
  return made;
}

Status OpenClStream::MakeTickets() {
  constexpr cl_int kZero = 0;
  constexpr auto kBytes = static_cast<int64_t>(kTickets * sizeof(kZero));
  ASSIGN_OR_RETURN(tickets_, device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = kBytes}));
  return OpenClStatus(
      device_->api().EnqueueFillBuffer(queue_, static_cast<cl_mem>(tickets_->base()), &kZero,
                                       sizeof(kZero), 0, kBytes, 0, nullptr, nullptr),
      "OpenCL: filling a buffer");
}

OpenClStream::~OpenClStream() {
  graph_staging_.reset();
  graph_queue_.reset();
  device_->api().Finish(queue_);
  window_.clear();
  pieces_.clear();
  timed_.clear();
  tickets_.reset();
  chain_state_.reset();
  gate_.reset();
  staging_.reset();
  device_->api().ReleaseCommandQueue(queue_);
}

std::array<size_t, 3> SmallerGroup(std::array<size_t, 3> lws, size_t items) {
  for (size_t axis = 3; axis-- > 0;) {
    while (ItemsOf(lws) > items && lws[axis] > 1)
      lws[axis] = lws[axis] % 2 == 0 ? lws[axis] / 2 : 1;
  }
  return lws;
}

Status OpenClStream::Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                            std::span<const KernelArg> args) {
  RETURN_IF_ERROR(CheckNotMapped(args));
  WorkSizes rounded = sizes;
  for (size_t axis = 0; axis < 3 && sizes.lws[0] > 0; ++axis)
    rounded.gws[axis] = (sizes.gws[axis] + sizes.lws[axis] - 1) / sizes.lws[axis] * sizes.lws[axis];
  if (recorded_ != nullptr) {
    recorded_->push_back({&kernel, rounded, std::vector<KernelArg>(args.begin(), args.end())});
    return OkStatus();
  }
  if (has_graphs_turn_) {
    ASSIGN_OR_RETURN(
        const bool done,
        LaunchBesideGraphs({&kernel, rounded, std::vector<KernelArg>(args.begin(), args.end())}));
    if (done) return OkStatus();
  }
  RETURN_IF_ERROR(TakeTurn());
  if (options_.timed) NoteForm(kernel, rounded);
  OpenClProgram& program = kernel.program();
  const bool watched = program.watched();
  const std::unique_ptr<InFlight> marker = watched ? program.BeginLaunch() : nullptr;
  OpenClEvent last;
  {
    std::lock_guard lock(kernel.mutex());
    RETURN_IF_ERROR(SetArguments(kernel, args));
    if (options_.kernel_ms > 0) {
      ASSIGN_OR_RETURN(last, EnqueueSplit(kernel, rounded, args));
    } else {
      ASSIGN_OR_RETURN(last, Enqueue(kernel, {}, rounded.gws, rounded, watched));
    }
  }
  if (!watched) return OkStatus();
  RETURN_IF_ERROR(Wait(last));
  program.Trust();
  return OkStatus();
}

Status OpenClStream::CheckNotMapped(std::span<const KernelArg> args) const {
  const MappedRegions& mapped = device_->mapped();
  if (!mapped.any()) return OkStatus();
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].is_memory() && mapped.Holds(args[i].memory()))
      return Error(StatusCode::kBusy,
                   "OpenCL: launching a kernel: argument {}: the host has it mapped", i);
  }
  return OkStatus();
}

/// Sets those that differ from what was set last: a step of a network has a kernel object of its
/// own, and mostly the same arguments in each inference.
Status OpenClStream::SetArguments(const OpenClKernel& kernel, std::span<const KernelArg> args) {
  SetArgs& set = kernel.set_args();
  const uint64_t released = OpenClMemory::released();
  if (set.released != released || set.args.size() != args.size()) set = {{}, released};
  const bool is_first = set.args.empty();
  for (size_t i = 0; i < args.size(); ++i) {
    if (!is_first && set.args[i] == args[i]) continue;
    const cl_int code = device_->api().SetKernelArg(kernel.get(), static_cast<cl_uint>(i),
                                                    args[i].size(), args[i].data());
    if (code != CL_SUCCESS) {
      set.args.clear();
      return OpenClStatus(code, fmt::format("OpenCL: argument {} of a kernel", i));
    }
    if (!is_first) set.args[i] = args[i];
  }
  if (is_first) set.args.assign(args.begin(), args.end());
  return OkStatus();
}

Result<OpenClEvent> OpenClStream::Enqueue(const OpenClKernel& kernel, const Extents& offset,
                                          const Extents& gws, const WorkSizes& sizes,
                                          bool wants_event) {
  const OpenClApi& api = device_->api();
  const bool has_offset = offset != Extents{};
  const bool has_event = wants_event || options_.queue_window > 0 || options_.timed;
  Extents lws = sizes.lws;
  if (const size_t most = kernel.most_items(); sizes.any_group && most > 0 && ItemsOf(lws) > most)
    lws = SmallerGroup(lws, most);
  cl_event made = nullptr;
  cl_int code = CL_SUCCESS;
  while (true) {
    code = api.EnqueueNDRangeKernel(queue_, kernel.get(), 3, has_offset ? offset.data() : nullptr,
                                    gws.data(), lws[0] > 0 ? lws.data() : nullptr, 0, nullptr,
                                    has_event ? &made : nullptr);
    if (!IsGroupRefused(code) || !sizes.any_group || ItemsOf(lws) <= 1) break;
    lws = SmallerGroup(lws, ItemsOf(lws) / 2);
    kernel.Bound(ItemsOf(lws));
  }
  if (IsGroupRefused(code) && lws[0] > 0)
    return Error(StatusCode::kDeviceError,
                 "OpenCL: launching '{}' in work-groups of {}x{}x{} (it takes {} items): {}",
                 kernel.function(), lws[0], lws[1], lws[2], kernel.most_items(),
                 OpenClErrorName(code));
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: launching a kernel"));
  if (!has_event) return OpenClEvent();
  OpenClEvent event = Own(made);
  if (options_.timed) timed_.push_back(event);
  if (options_.queue_window > 0) RETURN_IF_ERROR(WaitForWindow(event));
  return event;
}

OpenClEvent OpenClStream::Own(cl_event event) const {
  return {event, [&api = device_->api()](cl_event e) { api.ReleaseEvent(e); }};
}

Status OpenClStream::Wait(const OpenClEvent& event) {
  const cl_event waited = event.get();
  return OpenClStatus(Waited([&] { return device_->api().WaitForEvents(1, &waited); }),
                      "OpenCL: waiting for a kernel");
}

/// Waits for the command that is queue_window behind, never for all.
Status OpenClStream::WaitForWindow(const OpenClEvent& event) {
  window_.push_back(event);
  if (window_.size() < static_cast<size_t>(options_.queue_window)) return OkStatus();
  const OpenClEvent oldest = std::move(window_.front());
  window_.pop_front();
  return Wait(oldest);
}

Status OpenClStream::Synchronise() {
  held_ = false;
  if (graph_queue_ != nullptr) RETURN_IF_ERROR(WaitForGraph());
  RETURN_IF_ERROR(FinishQueue());
  LearnFromFinished();
  return OkStatus();
}

Status OpenClStream::Hold(double us) {
  if (gate_ == nullptr) {
    ASSIGN_OR_RETURN(gate_, OpenClGate::Create(*this));
  }
  held_ = true;
  return gate_->Enqueue(us, *this);
}

int64_t OpenClStream::TakeBusyNs() {
  double ms = 0;
  for (const OpenClEvent& event : timed_) ms += DurationMs(device_->api(), event.get());
  timed_.clear();
  return ms > 0 ? static_cast<int64_t>(ms * 1e6) : -1;
}

}  // namespace fettle
