#include "device/opencl/opencl_stream.h"

#include <cstring>

namespace fettle {

Result<std::unique_ptr<OpenClStream>> OpenClStream::Create(
    std::shared_ptr<const OpenClDevice> device, const StreamOptions& options) {
  cl_int code = CL_SUCCESS;
  cl_command_queue queue =
      device->api().CreateCommandQueue(device->context(), device->id(), 0, &code);
  RETURN_IF_ERROR(OpenClStatus(code, "OpenCL: making a command queue"));
  return std::unique_ptr<OpenClStream>(new OpenClStream(std::move(device), queue, options));
}

OpenClStream::~OpenClStream() {
  device_->api().Finish(queue_);
  for (cl_event event : window_) device_->api().ReleaseEvent(event);
  device_->api().ReleaseCommandQueue(queue_);
}

Status OpenClStream::Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                            std::span<const KernelArg> args) {
  const OpenClApi& api = device_->api();
  std::array<size_t, 3> gws = sizes.gws;
  const bool has_lws = sizes.lws[0] > 0;
  for (size_t axis = 0; axis < 3 && has_lws; ++axis)
    gws[axis] = (gws[axis] + sizes.lws[axis] - 1) / sizes.lws[axis] * sizes.lws[axis];
  cl_event event = nullptr;
  {
    std::lock_guard lock(kernel.mutex());
    for (size_t i = 0; i < args.size(); ++i) {
      const cl_int code =
          api.SetKernelArg(kernel.get(), static_cast<cl_uint>(i), args[i].size(), args[i].data());
      if (code != CL_SUCCESS)
        return OpenClStatus(code, fmt::format("OpenCL: argument {} of a kernel", i));
    }
    RETURN_IF_ERROR(
        OpenClStatus(api.EnqueueNDRangeKernel(queue_, kernel.get(), 3, nullptr, gws.data(),
                                              has_lws ? sizes.lws.data() : nullptr, 0, nullptr,
                                              options_.queue_window > 0 ? &event : nullptr),
                     "OpenCL: launching a kernel"));
  }
  return event == nullptr ? OkStatus() : WaitForWindow(event);
}

/// Waits for the command that is queue_window behind, never for all.
Status OpenClStream::WaitForWindow(cl_event event) {
  window_.push_back(event);
  if (window_.size() < static_cast<size_t>(options_.queue_window)) return OkStatus();
  const cl_event oldest = window_.front();
  window_.pop_front();
  const cl_int code = device_->api().WaitForEvents(1, &oldest);
  device_->api().ReleaseEvent(oldest);
  return OpenClStatus(code, "OpenCL: waiting for a kernel");
}

Status OpenClStream::WriteBuffer(const Location& to, const void* from, int64_t bytes) {
  if (bytes == 0) return OkStatus();
  return OpenClStatus(
      device_->api().EnqueueWriteBuffer(queue_, static_cast<cl_mem>(to.base), CL_TRUE,
                                        static_cast<size_t>(to.offset), static_cast<size_t>(bytes),
                                        from, 0, nullptr, nullptr),
      "OpenCL: writing a buffer");
}

Status OpenClStream::ReadBuffer(void* to, const Location& from, int64_t bytes) {
  if (bytes == 0) return OkStatus();
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
  return OpenClStatus(device_->api().EnqueueWriteImage(
                          queue_, static_cast<cl_mem>(to.base()), CL_TRUE, kOrigin,
                          RegionOf(to.request(), bytes).data(), 0, 0, from, 0, nullptr, nullptr),
                      "OpenCL: writing an image");
}

Status OpenClStream::Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) {
  if (!IsImage(from)) return ReadBuffer(to, from.location(offset), bytes);
  if (bytes == 0) return OkStatus();
  return OpenClStatus(device_->api().EnqueueReadImage(
                          queue_, static_cast<cl_mem>(from.base()), CL_TRUE, kOrigin,
                          RegionOf(from.request(), bytes).data(), 0, 0, to, 0, nullptr, nullptr),
                      "OpenCL: reading an image");
}

Status OpenClStream::Flush() {
  return OpenClStatus(device_->api().Flush(queue_), "OpenCL: flushing");
}

Status OpenClStream::Synchronise() {
  return OpenClStatus(device_->api().Finish(queue_), "OpenCL: waiting for the device");
}

}  // namespace fettle
