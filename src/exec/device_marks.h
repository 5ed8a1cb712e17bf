// Marks memory of devices beside the CPU that nobody has written, in builds that mark memory.
#pragma once

#include <memory>
#include <span>

#include "exec/memory_plan.h"
#include "exec/work_memory.h"

namespace fettle::exec {

/// For one run after the other. Does nothing where memory is not marked (base/memory_marks.h).
class DeviceMarks {
 public:
  /// `memory` is reserved for `plan`; `streams`: of the devices beside the CPU. All outlive it.
  DeviceMarks(const MemoryPlan& plan, const WorkMemory& memory,
              std::span<const std::unique_ptr<Stream>> streams)
      : plan_(plan), memory_(memory), streams_(streams) {}

  /// Nobody has written anything yet.
  Status BeginRun() const { return marks::On() ? MarkAll() : OkStatus(); }
  /// Memory that step `index` is the first to write is fresh. Steps of a chain after its first are
  /// not reported: all of them are enqueued at once.
  Status Begin(size_t index) const {
    return marks::On() ? Mark(static_cast<int>(index)) : OkStatus();
  }

 private:
  Status MarkAll() const;
  Status Mark(int index) const;
  /// Of a device of the set, beside the CPU.
  Status MarkImage(int device, DType storage, int index) const;
  Status MarkFresh(int device, const DeviceMemory& memory, int64_t offset, int64_t bytes) const;

  const MemoryPlan& plan_;
  const WorkMemory& memory_;
  std::span<const std::unique_ptr<Stream>> streams_;
};

}  // namespace fettle::exec
