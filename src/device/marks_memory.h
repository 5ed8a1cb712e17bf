// Streams whose memory builds for tests can mark (base/memory_marks.h).
#pragma once

#include <cstdint>

#include "base/status.h"

namespace fettle {

class DeviceMemory;

/// What a stream is beside a Stream where its device's memory can be marked.
class MarksMemory {
 public:
  virtual ~MarksMemory() = default;
  /// `bytes` of `memory` at `offset` (of an image: all of it) hold the fill, after what is
  /// enqueued: marks::Fresh of a device. Counts as no transfer. kDeviceError.
  virtual Status MarkFresh(const DeviceMemory& memory, int64_t offset, int64_t bytes) = 0;
};

}  // namespace fettle
