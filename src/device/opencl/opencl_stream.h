// An in-order command queue of an OpenCL device.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "device/opencl/opencl_device.h"

namespace fettle {

/// One argument of a kernel: a memory object, or a value of a scalar or vector type.
class KernelArg {
 public:
  KernelArg(const Location& location) : KernelArg(static_cast<cl_mem>(location.base)) {}
  template <typename T>
  requires std::is_trivially_copyable_v<T> KernelArg(const T& value) : size_(sizeof(T)) {
    static_assert(sizeof(T) <= sizeof(bytes_), "larger values are buffers");
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  const void* data() const { return bytes_.data(); }
  size_t size() const { return size_; }

 private:
  std::array<std::byte, 64> bytes_;
  size_t size_;
};

/// Global and local work sizes; a local size of 0 leaves the whole choice to the driver. `gws` is
/// rounded up to multiples of `lws`: kernels return where their index is outside.
struct WorkSizes {
  std::array<size_t, 3> gws{1, 1, 1};
  std::array<size_t, 3> lws{0, 0, 0};
};

/// Belongs to one thread at a time.
class OpenClStream final : public Stream {
 public:
  static Result<std::unique_ptr<OpenClStream>> Create(std::shared_ptr<const OpenClDevice> device,
                                                      const StreamOptions& options = {});
  ~OpenClStream() override;

  /// Enqueues a launch. kDeviceError where the driver refuses it.
  Status Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                std::initializer_list<KernelArg> args) {
    return Launch(kernel, sizes, std::span<const KernelArg>(args.begin(), args.size()));
  }
  Status Launch(const OpenClKernel& kernel, const WorkSizes& sizes,
                std::span<const KernelArg> args);

  Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) override;
  Status Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) override;
  /// The same for a buffer that only its location is known of.
  Status WriteBuffer(const Location& to, const void* from, int64_t bytes);
  Status ReadBuffer(void* to, const Location& from, int64_t bytes);

  /// Hands what is enqueued to the device without waiting.
  Status Flush();
  Status Synchronise() override;

  const OpenClDevice& device() const { return *device_; }
  cl_command_queue queue() const { return queue_; }

 private:
  OpenClStream(std::shared_ptr<const OpenClDevice> device, cl_command_queue queue,
               const StreamOptions& options)
      : device_(std::move(device)), queue_(queue), options_(options) {}
  Status WaitForWindow(cl_event event);

  std::shared_ptr<const OpenClDevice> device_;
  cl_command_queue queue_;
  StreamOptions options_;
  std::deque<cl_event> window_;  // events of commands that may be unfinished, oldest first
};

}  // namespace fettle
