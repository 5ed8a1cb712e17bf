// The queue by which what the host has goes to a device with memory of its own.
#pragma once

#include <memory>
#include <mutex>

#include "device/opencl/api.h"

namespace fettle {

/// One for all uploads of a device, made when it is first used. Thread-safe.
class UploadQueue {
 public:
  UploadQueue(const OpenClApi& api, std::shared_ptr<void> context, cl_device_id device)
      : api_(api), context_(std::move(context)), device_(device) {}
  ~UploadQueue() {
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }
  UploadQueue(const UploadQueue&) = delete;
  UploadQueue& operator=(const UploadQueue&) = delete;

  /// Fills the first `bytes` of `buffer` and waits for that; the driver's code.
  cl_int Write(cl_mem buffer, const std::byte* data, int64_t bytes) {
    std::lock_guard lock(mutex_);
    cl_int code = CL_SUCCESS;
    if (queue_ == nullptr)
      queue_ = api_.CreateCommandQueue(static_cast<cl_context>(context_.get()), device_, 0, &code);
    if (queue_ == nullptr) return code;
    return api_.EnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, bytes, data, 0, nullptr, nullptr);
  }

 private:
  const OpenClApi& api_;
  const std::shared_ptr<void> context_;
  const cl_device_id device_;
  std::mutex mutex_;
  cl_command_queue queue_ = nullptr;  // guarded by mutex_
};

}  // namespace fettle
