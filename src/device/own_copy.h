// What mappings have that copied a device's bytes into memory of their own.
#pragma once

#include <cstddef>
#include <memory>

namespace fettle {

/// A MappedTensor may be one.
class HasOwnCopy {
 public:
  virtual ~HasOwnCopy() = default;
  /// The bytes that MappedTensor::data() shows, which whoever holds them may keep and write; null
  /// where they are the device's, or the host wanted another form.
  virtual std::shared_ptr<std::byte> own_copy() const = 0;
};

}  // namespace fettle
