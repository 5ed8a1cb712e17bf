// The memory that programs run in: one for all programs that never run at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "device/device.h"
#include "exec/memory_plan.h"

namespace fettle::exec {

/// Belongs to one thread at a time; grows, and never shrinks.
class WorkMemory {
 public:
  /// Makes room for what `plan` needs beside what is there. `devices` are those that it was made
  /// for, and first among those of all plans. Fails with kOutOfMemory, or as Allocate of a device
  /// does.
  Status Reserve(const MemoryPlan& plan, const DeviceSet& devices);

  int64_t arena_bytes() const { return arena_bytes_; }
  /// What is held on the host: what plans need, and room for larger ones.
  int64_t held_bytes() const { return capacity_; }
  /// Of the devices beside the CPU: buffers and images in bytes.
  int64_t device_bytes() const;
  /// The most that a plan among them needs alive at once there (DeviceNeeds::live_bytes).
  int64_t live_bytes() const { return live_bytes_; }
  /// A place in the bytes of a device of the set.
  Location bytes(int device, int64_t offset) const {
    if (device == 0) return {arena_.get(), offset};
    return Of(device).buffer->location(offset);
  }
  /// What bytes() are in, of a device beside the CPU.
  const DeviceMemory& buffer(int device) const { return *Of(device).buffer; }
  const DeviceMemory& image_memory(int device, DType storage, int index) const {
    return *Of(device).images[Of(storage)][index];
  }
  Location image(int device, DType storage, int index) const {
    return image_memory(device, storage, index).location();
  }

 private:
  /// What lies on a device beside the CPU.
  struct OnDevice {
    std::shared_ptr<DeviceMemory> buffer;
    std::array<std::vector<std::shared_ptr<DeviceMemory>>, 2> images;  // f32, f16
  };
  static size_t Of(DType storage) { return storage == DType::kF16 ? 1 : 0; }
  const OnDevice& Of(int device) const { return on_devices_[device - 1]; }
  static Status Reserve(const DeviceNeeds& needs, const Device& device, OnDevice& memory);
  /// The arena anew, of at least so many bytes.
  Status Grow(int64_t bytes);

  std::shared_ptr<std::byte> arena_;
  int64_t capacity_ = 0;     // of the arena
  int64_t arena_bytes_ = 0;  // that plans need
  int64_t live_bytes_ = 0;
  std::vector<OnDevice> on_devices_;  // as DeviceSet::beside_cpu()
};

}  // namespace fettle::exec
