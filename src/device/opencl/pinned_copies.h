// Copies between pinned memory and a device by OpenCL's queue.
#pragma once

#include "device/opencl/opencl_device.h"
#include "device/staging.h"

namespace fettle {

/// `device` and `queue` outlive it.
class OpenClPinnedCopies final : public PinnedCopies {
 public:
  OpenClPinnedCopies(const OpenClDevice& device, cl_command_queue queue)
      : device_(device), queue_(queue) {}

  std::shared_ptr<std::byte> Allocate(int64_t bytes) const override {
    return device_.AllocateForTransfers(bytes);
  }
  Result<Event> Write(const Location& to, const std::byte* from, int64_t bytes) override {
    cl_event made = nullptr;
    const cl_int code = api().EnqueueWriteBuffer(queue_, static_cast<cl_mem>(to.base), CL_FALSE,
                                                 to.offset, bytes, from, 0, nullptr, &made);
    return Sent(code, made, "OpenCL: writing a buffer");
  }
  Result<Event> Read(std::byte* to, const Location& from, int64_t bytes) override {
    cl_event made = nullptr;
    const cl_int code = api().EnqueueReadBuffer(queue_, static_cast<cl_mem>(from.base), CL_FALSE,
                                                from.offset, bytes, to, 0, nullptr, &made);
    return Sent(code, made, "OpenCL: reading a buffer");
  }
  Status Wait(const Event& event) override {
    auto* const waited = static_cast<cl_event>(event.get());
    return OpenClStatus(api().WaitForEvents(1, &waited), "OpenCL: waiting for a transfer");
  }

 private:
  const OpenClApi& api() const { return device_.api(); }
  /// It travels while the host copies on.
  Result<Event> Sent(cl_int code, cl_event made, std::string_view what) {
    RETURN_IF_ERROR(OpenClStatus(code, what));
    api().Flush(queue_);
    return Event(static_cast<void*>(made),
                 [&api = api()](void* event) { api.ReleaseEvent(static_cast<cl_event>(event)); });
  }

  const OpenClDevice& device_;
  cl_command_queue queue_;
};

}  // namespace fettle
