#include "picture/alpha_plane.h"

#include <algorithm>
#include <vector>

namespace fettle::enhance {
namespace {

/// The least or most of each three neighbours in a row of `width` samples.
template <typename Sample, typename Pick>
void OfThree(const Sample* row, int width, Pick pick, Sample* to) {
  for (int x = 0; x < width; ++x)
    to[x] = pick(pick(row[std::max(x - 1, 0)], row[x]), row[std::min(x + 1, width - 1)]);
}

/// The same of the rows above and below, `all` holding a row for each of the plane.
template <typename Sample, typename Pick>
std::vector<Sample> OfNine(const Plane& plane, Pick pick) {
  const auto width = static_cast<size_t>(plane.width);
  std::vector<Sample> across(width * plane.height), all(across.size());
  for (int y = 0; y < plane.height; ++y)
    OfThree(plane.row<Sample>(y), plane.width, pick, across.data() + y * width);
  for (int y = 0; y < plane.height; ++y) {
    const Sample* above = across.data() + std::max(y - 1, 0) * width;
    const Sample* here = across.data() + y * width;
    const Sample* below = across.data() + std::min(y + 1, plane.height - 1) * width;
    for (size_t x = 0; x < width; ++x) all[y * width + x] = pick(pick(above[x], here[x]), below[x]);
  }
  return all;
}

}  // namespace

bool IsEven(const Plane& plane) {
  bool even = true;
  ForSampleType(plane.depth, [&](auto sample) {
    using Sample = decltype(sample);
    const Sample first = *plane.row<Sample>(0);
    for (int y = 0; y < plane.height && even; ++y) {
      const Sample* row = plane.row<Sample>(y);
      even = std::all_of(row, row + plane.width, [&](Sample value) { return value == first; });
    }
  });
  return even;
}

void KeepWithinNeighbours(const Plane& from, const Plane& enlarged) {
  ForSampleType(from.depth, [&](auto sample) {
    using Sample = decltype(sample);
    const auto least = OfNine<Sample>(from, [](Sample a, Sample b) { return std::min(a, b); });
    const auto most = OfNine<Sample>(from, [](Sample a, Sample b) { return std::max(a, b); });
    for (int y = 0; y < enlarged.height; ++y) {
      Sample* row = enlarged.row<Sample>(y);
      const size_t line = static_cast<size_t>(y / 2) * from.width;
      for (int x = 0; x < enlarged.width; ++x)
        row[x] = std::clamp(row[x], least[line + x / 2], most[line + x / 2]);
    }
  });
}

}  // namespace fettle::enhance
