// Mappings that hold a copy of a device's bytes in their own memory.
#pragma once

#include <cstddef>
#include <memory>

namespace fettle {

/// A MappedTensor may be one.
class HasOwnCopy {
 public:
  virtual ~HasOwnCopy() = default;
  /// The bytes that MappedTensor::data() shows; the holder may keep and change them. Null where
  /// they are the device's own, or the host wanted another form.
  virtual std::shared_ptr<std::byte> own_copy() const = 0;
};

}  // namespace fettle
