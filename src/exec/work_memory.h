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
  /// Makes room for what `plan` needs beside what is there. Fails with kOutOfMemory, or as the
  /// accelerator's Allocate does.
  Status Reserve(const MemoryPlan& plan, const DeviceSet& devices);

  std::byte* arena() const { return arena_.get(); }
  int64_t arena_bytes() const { return arena_bytes_; }
  /// Of the accelerator: the buffer and images in bytes.
  int64_t device_bytes() const;
  Location buffer(int64_t offset) const { return buffer_->location(offset); }
  Location image(DType storage, int index) const {
    return images_[Of(storage)][static_cast<size_t>(index)]->location();
  }

 private:
  static size_t Of(DType storage) { return storage == DType::kF16 ? 1 : 0; }

  std::shared_ptr<std::byte> arena_;
  int64_t arena_bytes_ = 0;
  std::shared_ptr<DeviceMemory> buffer_;
  std::array<std::vector<std::shared_ptr<DeviceMemory>>, 2> images_;  // f32, f16
};

}  // namespace fettle::exec
