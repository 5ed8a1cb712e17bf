// The light around each part of a plane.
#pragma once

#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// Nodes `cell` samples apart, the first one at the corner, and the mean of the samples that are
/// nearer than a cell to each, in levels of 8 bits. Between nodes is interpolated.
struct LightGrid {
  int cell = 64;
  int across = 0, down = 0;  // nodes
  std::vector<float> means;  // row after row

  float mean(int x, int y) const { return means[static_cast<size_t>(y) * across + x]; }
};

/// Cells of 64 samples up to 960 columns, and so many more beyond. Every fourth row is read.
LightGrid LightGridOf(const Plane& luma);

}  // namespace fettle::enhance
