// Work sizes of kernels that treat each place of a tensor alike. Few distinct work-group sizes:
// compilers for CPUs build a kernel again for each.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/opencl/launch.h"

namespace fettle::kernels {

inline constexpr size_t kGroupItems = 64;

/// Work-groups of `items` work-items along axis 0, `x` times `y` times `z` of them.
inline WorkSizes GroupSizes(int64_t items, int64_t x, int64_t y = 1, int64_t z = 1) {
  const auto along = [](int64_t extent) { return static_cast<size_t>(extent); };
  return {.gws = {along(x * items), along(y), along(z)}, .lws = {along(items), 1, 1}};
}

/// `items` along axis 0 over `y` and `z`. Work-groups lie along axis 0, or along axis 1 where axis
/// 0 would leave most of one idle. Kernels return beyond their extents.
inline WorkSizes PlaceSizes(int64_t items, int64_t y = 1, int64_t z = 1) {
  WorkSizes sizes{
      .gws = {static_cast<size_t>(items), static_cast<size_t>(y), static_cast<size_t>(z)},
      .any_group = true};
  const bool along_y = items < 16 && y > items;
  sizes.lws =
      along_y ? std::array<size_t, 3>{1, kGroupItems, 1} : std::array<size_t, 3>{kGroupItems, 1, 1};
  return sizes;
}

/// The extents of the plane of a tensor of rank 3 or 4; the planes of a volume (rank 5) lie below
/// each other, as one of depth * height rows.
inline std::array<int64_t, 2> PlaneOf(const Shape& shape) {
  return {shape.Count(2, shape.rank() - 1), shape[shape.rank() - 1]};
}

/// (channel blocks, height, width, batch) of a tensor of rank 3 to 5 in pixels of four channels.
inline cl_int4 PixelDims(const Shape& shape) {
  const auto [height, width] = PlaneOf(shape);
  return Int4(DivideUp(shape[1], 4), height, width, shape[0]);
}

/// One work-item per pixel: {height * width, channel blocks, batch}.
inline WorkSizes PixelSizes(const Shape& shape) {
  return PlaceSizes(shape.Count(2, shape.rank()), DivideUp(shape[1], 4), shape[0]);
}

}  // namespace fettle::kernels
