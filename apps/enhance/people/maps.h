// Small maps of bytes, such as masks: a frame's people at the network's size, and the way between
// that size and a plane's.
#pragma once

#include <cstdint>
#include <vector>

#include "picture/samples.h"

namespace fettle::enhance {

/// `width` x `height` values of 0 to 255, row after row.
struct Map {
  int width = 0, height = 0;
  std::vector<uint8_t> values;

  bool operator==(const Map&) const = default;
};

/// The plane's samples at another size, 1.0 for WhiteOf, row after row: means of what lies in each
/// where it shrinks, interpolated where it grows. Both sides by the same rule, each for itself.
void ReadAt(const Plane& plane, int width, int height, std::vector<float>& values);

/// Where `size` samples, spread over as much as `from` others, stand among these: the sample before
/// each, the one after it, and the share of the latter. Ends repeat.
struct Stand {
  int before = 0, after = 0;
  float share = 0;
};
std::vector<Stand> Stands(int size, int from);

/// Turned clockwise by so many quarters (0 to 3); odd ones swap the sides.
template <typename T>
std::vector<T> Turned(const std::vector<T>& values, int width, int height, int quarters) {
  if (quarters == 0) return values;
  const bool swapped = quarters % 2 == 1;
  const int to_width = swapped ? height : width, to_height = swapped ? width : height;
  std::vector<T> turned;
  turned.reserve(values.size());
  for (int y = 0; y < to_height; ++y)
    for (int x = 0; x < to_width; ++x) {
      const int from_x = quarters == 1 ? y : quarters == 2 ? width - 1 - x : width - 1 - y;
      const int from_y = quarters == 1 ? height - 1 - x : quarters == 2 ? height - 1 - y : x;
      turned.push_back(values[static_cast<size_t>(from_y) * width + from_x]);
    }
  return turned;
}
Map Turned(const Map& map, int quarters);

/// Each value is the largest within `radius` columns and rows.
void Grow(Map& map, int radius);

}  // namespace fettle::enhance
