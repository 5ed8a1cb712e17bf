// Copies between pinned memory and a device by a queue of CUDA's.
#pragma once

#include "device/cuda/queue.h"
#include "device/staging.h"

namespace fettle::cuda {

/// The bases of locations are addresses of the device. `queue` outlives it.
class QueueCopies final : public PinnedCopies {
 public:
  explicit QueueCopies(Queue& queue) : queue_(queue) {}

  std::shared_ptr<std::byte> Allocate(int64_t bytes) const override {
    return queue_.AllocatePinned(bytes);
  }
  fettle::Result<Event> Write(const Location& to, const std::byte* from, int64_t bytes) override {
    RETURN_IF_ERROR(queue_.Write(AddressOf(to), from, bytes));
    return queue_.Mark();
  }
  fettle::Result<Event> Read(std::byte* to, const Location& from, int64_t bytes) override {
    RETURN_IF_ERROR(queue_.StartRead(to, AddressOf(from), bytes));
    return queue_.Mark();
  }
  Status Wait(const Event& event) override { return queue_.WaitFor(event); }

  static Location At(Address address) {
    return {reinterpret_cast<void*>(static_cast<uintptr_t>(address)), 0};
  }

 private:
  static Address AddressOf(const Location& at) {
    return reinterpret_cast<uintptr_t>(at.base) + at.offset;
  }

  Queue& queue_;
};

}  // namespace fettle::cuda
