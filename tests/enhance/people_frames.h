// Frames and maps of people for tests of the steps that look for them.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "people/people.h"
#include "picture/samples.h"

namespace fettle::enhance {

using Pixel = std::function<int(int plane, int x, int y)>;  // in levels of 8 bits

inline FramePtr Drawn(AVPixelFormat format, int width, int height, const Pixel& value) {
  FramePtr frame = NewFrame(format, width, height);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y)
        for (int x = 0; x < to.width; ++x)
          to.row<decltype(sample)>(y)[x] =
              static_cast<decltype(sample)>(value(plane, x, y) << (to.depth - 8));
    });
  }
  return frame;
}

inline int Speckle(int plane, int x, int y) {
  return (x * 7919 + y * 104729 + x * y * 31 + plane) % 256;
}

inline Map Blob(int width, int height, int left, int top, int right, int bottom) {
  Map map{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * height)};
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) map.values[static_cast<size_t>(y) * width + x] = 255;
  return map;
}

inline Map Nothing(int width, int height) { return Blob(width, height, 0, 0, 0, 0); }

inline bool Covers(const Map& cover, const Map& map) {
  for (size_t i = 0; i < map.values.size(); ++i)
    if (map.values[i] != 0 && cover.values[i] == 0) return false;
  return true;
}

inline People Somewhere(int width, int height, const Map& map) {
  EXPECT_EQ(map.width, width);
  EXPECT_EQ(map.height, height);
  return {map, map, map};
}

}  // namespace fettle::enhance
