// Where the points of a GridSample lie in its image.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// How grid coordinates in [-1, 1] become positions: x = g * scale + shift.
struct PointMap {
  int64_t height = 1, width = 1;
  double scale_x = 1, shift_x = 0, scale_y = 1, shift_y = 0;
  bool nearest = false;
  bool border = false;  // positions are clamped to the image; otherwise zeros lie around it
};

/// The map of a group of one GridSample over an image and a grid that are its two inputs, in f32,
/// bilinear or nearest, with zeros or the border around; otherwise kUnsupported with the reason.
Result<PointMap> ReadPointMap(const ir::Graph& group);

}  // namespace fettle::kernels
