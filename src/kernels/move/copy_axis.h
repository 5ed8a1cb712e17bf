// One loop of a strided copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

inline constexpr size_t kMaxCopyAxes = 64;

/// One axis of a copy; strides in elements, possibly 0 (repeat) or negative on the source side.
struct CopyAxis {
  int64_t extent;
  int64_t src_stride;
  int64_t dst_stride;
  bool operator==(const CopyAxis&) const = default;
};

}  // namespace fettle::kernels
