// Memory of the host that a device copies from and to by itself.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "device/opencl/api.h"

namespace fettle {

/// Allocates memory that the driver keeps in place ("pinned"). Other memory the driver copies into
/// pinned memory of its own first. Thread-safe.
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  PinnedPool(const OpenClApi& api, std::shared_ptr<void> context, cl_device_id device)
      : api_(api), context_(std::move(context)), device_(device) {}
  ~PinnedPool() {
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// At a multiple of kTensorAlignment; null where the driver has none, and where more than kMost
  /// would be held: the system cannot use such memory for anything else.
  std::shared_ptr<std::byte> Allocate(int64_t bytes);
  static constexpr int64_t kMost = int64_t{256} << 20;
  /// Whether all of these bytes are part of one allocation.
  bool Holds(const void* data, int64_t bytes) const;

 private:
  void Release(cl_mem memory, void* mapped, const std::byte* data);
  /// Null where the driver cannot; needs mutex_.
  void* MapWhole(cl_mem memory, size_t size);

  const OpenClApi& api_;
  const std::shared_ptr<void> context_;
  const cl_device_id device_;
  mutable std::mutex mutex_;
  cl_command_queue queue_ = nullptr;  // guarded by mutex_, as what follows
  int64_t held_ = 0;
  std::map<const std::byte*, int64_t> allocated_;  // by where they begin
};

}  // namespace fettle
