// Overlapping slices of a frame at its own size, all of one shape, so that a thing on the seam of
// two slices is whole in one of them.
#pragma once

#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// The overlap of slices: the largest thing to find, and as much again as its surroundings.
inline constexpr int kSliceOverlap = 48;

struct SliceGrid {
  struct Place {
    int x, y;
  };
  int width = 0, height = 0;  // of each slice, multiples of 4
  std::vector<Place> places;
};

/// As few slices as cover a frame with at most 352 x 224 pixels each. Places are multiples of 4. A
/// slice ends less than 4 pixels beyond the frame's edge, unless the frame is smaller than the
/// smallest slice of 32.
SliceGrid SlicesOf(int width, int height);

/// The slice's luma, row after row, 1.0 for white; beyond the edge the frame's last pixels are
/// repeated.
void ReadLuma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place, float* values);
/// U, then V, each at half of both sides, averaged where the frame has more of them; grey where it
/// has none.
void ReadChroma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place, float* values);

}  // namespace fettle::enhance
