// Finds and even frames for tests of the alert step.
#pragma once

#include <algorithm>

#include "alert/find.h"
#include "picture/samples.h"

namespace fettle::enhance {

inline Find FindAt(float x, float y, float score = 0.9f, float side = 10) {
  return {{x, y, side, side}, score};
}

inline FramePtr Flat(AVPixelFormat format, int width, int height, int level) {
  FramePtr frame = NewFrame(format, width, height);
  for (int index = 0; index < PlaneCount(*frame); ++index) {
    const Plane plane = PlaneOf(*frame, index);
    ForSampleType(plane.depth, [&](auto sample) {
      for (int y = 0; y < plane.height; ++y)
        std::fill_n(plane.row<decltype(sample)>(y), plane.width,
                    static_cast<decltype(sample)>(level << (plane.depth - 8)));
    });
  }
  return frame;
}

}  // namespace fettle::enhance
