// Slices of a frame at its own size, all of one shape, which overlap, so that what lies on the seam
// of two is whole in one of them.
#pragma once

#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// What slices share of each other: the largest thing to be found and as much again that it is seen
/// by.
inline constexpr int kSliceOverlap = 48;

struct SliceGrid {
  struct Place {
    int x, y;
  };
  int width = 0, height = 0;  // of each slice, multiples of 4
  std::vector<Place> places;
};

/// As few slices as cover a frame with at most 352 x 224 pixels each. Places are multiples of 4; a
/// slice passes the frame's edge by less than 4 pixels, but where the frame is smaller than the
/// least slice of 32.
SliceGrid SlicesOf(int width, int height);

/// The slice's luma, row after row, 1.0 for white; beyond the edge its last pixels go on.
void ReadLuma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place, float* values);
/// U, then V, each at half of both sides, averaged where the frame has more of them; grey where it
/// has none.
void ReadChroma(const AVFrame& frame, const SliceGrid& grid, SliceGrid::Place place, float* values);

}  // namespace fettle::enhance
