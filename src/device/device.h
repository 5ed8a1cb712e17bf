// Devices and streams as the layers above see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/state.h"

namespace fettle {

/// Where an operand's bytes are: a host pointer, or a device object and a byte offset into it.
struct Location {
  void* base = nullptr;
  int64_t offset = 0;

  template <typename T>
  T* host() const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
  }
};

/// An in-order queue of work on one device. Launches enqueue and never wait; the CPU's runs at
/// once. Belongs to one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until all that was enqueued has finished; reports what failed since the last call.
  virtual Status Synchronise() = 0;
};

/// A device. Immutable after creation, thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual std::string_view name() const = 0;
  /// Text that changes whenever timings may: model, instruction sets, caches, driver.
  virtual std::string_view fingerprint() const = 0;
};

}  // namespace fettle
