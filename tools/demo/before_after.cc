#include "before_after.h"

#include <algorithm>

namespace fettle::demo {
namespace {

/// Copies columns [begin, end) of `from`, which has the size of `to`.
void CopyColumns(const tools::Picture& from, int64_t begin, int64_t end, tools::Picture& to) {
  const auto copy = [&](const std::vector<float>& source, std::vector<float>& target, int64_t n) {
    if (source.empty() || target.empty()) return;
    for (int64_t y = 0; y < to.height; ++y) {
      std::copy_n(source.begin() + (y * to.width + begin) * n, (end - begin) * n,
                  target.begin() + (y * to.width + begin) * n);
    }
  };
  copy(from.samples, to.samples, to.channels);
  copy(from.alpha, to.alpha, 1);
}

void DrawLine(int64_t begin, int64_t end, tools::Picture& picture) {
  for (int64_t y = 0; y < picture.height; ++y) {
    const auto row = picture.samples.begin() + y * picture.width * picture.channels;
    std::fill(row + begin * picture.channels, row + end * picture.channels, 1.0f);
  }
}

}  // namespace

Result<tools::Picture> BeforeAfter(const tools::Picture& before, const tools::Picture& after) {
  if (before.channels != after.channels) {
    return InvalidArgument("before has {} channels, after {}", before.channels, after.channels);
  }
  tools::Picture picture = after;
  const int64_t middle = after.width / 2;
  CopyColumns(tools::Resize(before, after.width, after.height), 0, middle, picture);
  DrawLine(std::max<int64_t>(middle - 1, 0), std::min(middle + 1, after.width), picture);
  return picture;
}

}  // namespace fettle::demo
