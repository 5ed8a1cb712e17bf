// Copies between the host and memory of a device of NVIDIA's, for callers that wait for them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/primary_context.h"

namespace fettle::cuda {

/// Of one device. A copy does not wait for what queues hold: the caller has waited for that.
/// Thread-safe.
class Copies : public std::enable_shared_from_this<Copies> {
 public:
  explicit Copies(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  /// Return when the bytes have arrived. kDeviceError.
  Status ToDevice(Address to, const void* from, int64_t bytes) const;
  Status FromDevice(void* to, Address from, int64_t bytes) const;
  /// Pinned memory of the host, which is kept for the next caller when it is released. Ordinary
  /// memory where the driver has no more.
  std::shared_ptr<std::byte> HostMemory(int64_t bytes);

 private:
  struct Block {
    std::byte* data = nullptr;
    int64_t bytes = 0;
  };
  void Return(const Block& block);
  void Free(const Block& block) const;

  std::shared_ptr<PrimaryContext> context_;
  std::mutex mutex_;
  std::vector<Block> free_;  // guarded by mutex_
};

}  // namespace fettle::cuda
