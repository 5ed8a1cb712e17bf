#include "device/opencl/opencl_stream.h"

#include <cstring>

namespace fettle {

Result<std::unique_ptr<OpenClStream>> OpenClStream::Create(
    std::shared_ptr<const OpenClDevice> device, const StreamOptions& options) {
  cl_int code = CL_SUCCESS;
  const cl_command_queue_properties properties =
      options.kernel_ms > 0 ? CL_QUEUE_PROFILING_ENABLE : 0;
  cl_command_queue queue =
      device->api().CreateCommandQueue(device->context(), device->id(), properties, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: making a command queue"));
  return std::unique_ptr<OpenClStream>(new OpenClStream(std::move(device), queue, options));
}

OpenClStream::~OpenClStream() {
  device_->api().Finish(queue_);
  window_.clear();
  pieces_.clear();
  device_->api().ReleaseCommandQueue(queue_);
}

Status OpenClStream::Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                            std::span<const KernelArg> args) {
  RETURN_IF_ERROR(CheckNotMapped(args));
  WorkSizes rounded = sizes;
  for (size_t axis = 0; axis < 3 && sizes.lws[0] > 0; ++axis)
    rounded.gws[axis] = (sizes.gws[axis] + sizes.lws[axis] - 1) / sizes.lws[axis] * sizes.lws[axis];
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
      ASSIGN_OR_RETURN(last, Enqueue(kernel, {}, rounded.gws, rounded.lws, watched));
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

Status OpenClStream::SetArguments(const OpenClKernel& kernel, std::span<const KernelArg> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const cl_int code = device_->api().SetKernelArg(kernel.get(), static_cast<cl_uint>(i),
                                                    args[i].size(), args[i].data());
    if (code != CL_SUCCESS)
      return OpenClStatus(code, fmt::format("OpenCL: argument {} of a kernel", i));
  }
  return OkStatus();
}

Result<OpenClEvent> OpenClStream::Enqueue(const OpenClKernel& kernel, const Extents& offset,
                                          const Extents& gws, const Extents& lws,
                                          bool wants_event) {
  const OpenClApi& api = device_->api();
  const bool has_offset = offset != Extents{};
  const bool has_event = wants_event || options_.queue_window > 0;
  cl_event made = nullptr;
  RETURN_IF_ERROR(OpenClStatus(
      api.EnqueueNDRangeKernel(queue_, kernel.get(), 3, has_offset ? offset.data() : nullptr,
                               gws.data(), lws[0] > 0 ? lws.data() : nullptr, 0, nullptr,
                               has_event ? &made : nullptr),
      "OpenCL: launching a kernel"));
  if (!has_event) return OpenClEvent();
  const OpenClEvent event(made, [&api](cl_event e) { api.ReleaseEvent(e); });
  if (options_.queue_window > 0) RETURN_IF_ERROR(WaitForWindow(event));
  return event;
}

Status OpenClStream::Wait(const OpenClEvent& event) {
  const cl_event waited = event.get();
  return OpenClStatus(device_->api().WaitForEvents(1, &waited), "OpenCL: waiting for a kernel");
}

/// Waits for the command that is queue_window behind, never for all.
Status OpenClStream::WaitForWindow(const OpenClEvent& event) {
  window_.push_back(event);
  if (window_.size() < static_cast<size_t>(options_.queue_window)) return OkStatus();
  const OpenClEvent oldest = std::move(window_.front());
  window_.pop_front();
  return Wait(oldest);
}

Status OpenClStream::WriteBuffer(const Location& to, const void* from, int64_t bytes) {
  if (bytes == 0) return OkStatus();
  CountCopy(bytes);
  return OpenClStatus(
      device_->api().EnqueueWriteBuffer(queue_, static_cast<cl_mem>(to.base), CL_TRUE,
                                        static_cast<size_t>(to.offset), static_cast<size_t>(bytes),
                                        from, 0, nullptr, nullptr),
      "OpenCL: writing a buffer");
}

Status OpenClStream::ReadBuffer(void* to, const Location& from, int64_t bytes) {
  if (bytes == 0) return OkStatus();
  CountCopy(bytes);
  return OpenClStatus(
      device_->api().EnqueueReadBuffer(queue_, static_cast<cl_mem>(from.base), CL_TRUE,
                                       static_cast<size_t>(from.offset), static_cast<size_t>(bytes),
                                       to, 0, nullptr, nullptr),
      "OpenCL: reading a buffer");
}

namespace {

bool IsImage(const DeviceMemory& memory) {
  return memory.request().kind == MemoryKind::kImage2d ||
         memory.request().kind == MemoryKind::kImage1d;
}

/// The rows of an image that `bytes` fill: {width, height, 1}.
std::array<size_t, 3> RegionOf(const MemoryRequest& image, int64_t bytes) {
  const int64_t row = image.width * 4 * ByteSize(image.storage);
  return {static_cast<size_t>(image.width), static_cast<size_t>(bytes / row), 1};
}

constexpr size_t kOrigin[3] = {0, 0, 0};

}  // namespace

Status OpenClStream::Write(const DeviceMemory& to, int64_t offset, const void* from,
                           int64_t bytes) {
  if (!IsImage(to)) return WriteBuffer(to.location(offset), from, bytes);
  if (bytes == 0) return OkStatus();
  CountCopy(bytes);
  return OpenClStatus(device_->api().EnqueueWriteImage(
                          queue_, static_cast<cl_mem>(to.base()), CL_TRUE, kOrigin,
                          RegionOf(to.request(), bytes).data(), 0, 0, from, 0, nullptr, nullptr),
                      "OpenCL: writing an image");
}

Status OpenClStream::Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) {
  if (!IsImage(from)) return ReadBuffer(to, from.location(offset), bytes);
  if (bytes == 0) return OkStatus();
  CountCopy(bytes);
  return OpenClStatus(device_->api().EnqueueReadImage(
                          queue_, static_cast<cl_mem>(from.base()), CL_TRUE, kOrigin,
                          RegionOf(from.request(), bytes).data(), 0, 0, to, 0, nullptr, nullptr),
                      "OpenCL: reading an image");
}

Status OpenClStream::Synchronise() {
  return OpenClStatus(device_->api().Finish(queue_), "OpenCL: waiting for the device");
}

}  // namespace fettle
