// Packed constants that kernels read as images.
#pragma once

#include "kernels/kernel.h"

namespace fettle::kernels {

/// A prepared kernel that reads some of its packed constants as images.
class PacksImages {
 public:
  virtual ~PacksImages() = default;
  /// The image that packs()[i] is, its pixels row by row without gaps; null: plain memory.
  virtual const MemoryRequest* packed_image(size_t i) const = 0;
};

/// The image that packs()[i] of a prepared kernel is; null: plain memory.
inline const MemoryRequest* PackedImageOf(const PreparedKernel& kernel, size_t i) {
  const auto* images = dynamic_cast<const PacksImages*>(&kernel);
  return images == nullptr ? nullptr : images->packed_image(i);
}

}  // namespace fettle::kernels
