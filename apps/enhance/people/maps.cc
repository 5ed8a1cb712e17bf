#include "people/maps.h"

#include <algorithm>
#include <cmath>

namespace fettle::enhance {
namespace {

/// First of the samples whose mean sample `at` of `size` is; it ends where the next one begins.
int BoxBegin(int at, int size, int from) {
  return static_cast<int>(static_cast<int64_t>(at) * from / size);
}

/// One row at another width.
void ResizeRow(const float* row, int from, int width, const std::vector<Stand>& stands,
               float* values) {
  if (width >= from) {
    for (int x = 0; x < width; ++x) {
      const Stand& stand = stands[static_cast<size_t>(x)];
      values[x] = row[stand.before] + stand.share * (row[stand.after] - row[stand.before]);
    }
    return;
  }
  for (int x = 0; x < width; ++x) {
    const int begin = BoxBegin(x, width, from), end = BoxBegin(x + 1, width, from);
    float sum = 0;
    for (int i = begin; i < end; ++i) sum += row[i];
    values[x] = sum / static_cast<float>(end - begin);
  }
}

/// The largest of `radius` values to each side, `step` apart.
void GrowLine(uint8_t* line, int count, ptrdiff_t step, int radius, std::vector<uint8_t>& copy) {
  copy.resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) copy[static_cast<size_t>(i)] = line[i * step];
  for (int i = 0; i < count; ++i) {
    const auto begin = copy.begin() + std::max(0, i - radius);
    const auto end = copy.begin() + std::min(count, i + radius + 1);
    line[i * step] = *std::max_element(begin, end);
  }
}

}  // namespace

std::vector<Stand> Stands(int size, int from) {
  std::vector<Stand> stands(static_cast<size_t>(size));
  const double ratio = static_cast<double>(from) / size;
  for (int i = 0; i < size; ++i) {
    const double at = std::clamp((i + 0.5) * ratio - 0.5, 0.0, from - 1.0);
    const int before = static_cast<int>(at);
    stands[static_cast<size_t>(i)] = {before, std::min(before + 1, from - 1),
                                      static_cast<float>(at - before)};
  }
  return stands;
}

void ReadAt(const Plane& plane, int width, int height, std::vector<float>& values) {
  values.assign(static_cast<size_t>(width) * height, 0.0f);
  std::vector<float> row(static_cast<size_t>(plane.width)), other(row.size());
  const std::vector<Stand> columns = Stands(width, plane.width);
  const std::vector<Stand> rows = Stands(height, plane.height);
  for (int y = 0; y < height; ++y) {
    if (height >= plane.height) {
      const Stand& stand = rows[static_cast<size_t>(y)];
      ReadRows(plane, stand.before, 1, row.data());
      ReadRows(plane, stand.after, 1, other.data());
      for (size_t x = 0; x < row.size(); ++x) row[x] += stand.share * (other[x] - row[x]);
    } else {
      const int begin = BoxBegin(y, height, plane.height);
      const int end = BoxBegin(y + 1, height, plane.height);
      ReadRows(plane, begin, 1, row.data());
      for (int i = begin + 1; i < end; ++i) {
        ReadRows(plane, i, 1, other.data());
        for (size_t x = 0; x < row.size(); ++x) row[x] += other[x];
      }
      const float share = 1 / static_cast<float>(end - begin);
      for (float& value : row) value *= share;
    }
    ResizeRow(row.data(), plane.width, width, columns,
              values.data() + static_cast<ptrdiff_t>(y) * width);
  }
}

Map Turned(const Map& map, int quarters) {
  const bool swapped = quarters % 2 == 1;
  return {swapped ? map.height : map.width, swapped ? map.width : map.height,
          Turned(map.values, map.width, map.height, quarters)};
}

void Grow(Map& map, int radius) {
  if (radius <= 0) return;
  std::vector<uint8_t> copy;
  for (int y = 0; y < map.height; ++y)
    GrowLine(map.values.data() + static_cast<ptrdiff_t>(y) * map.width, map.width, 1, radius, copy);
  for (int x = 0; x < map.width; ++x)
    GrowLine(map.values.data() + x, map.height, map.width, radius, copy);
}

}  // namespace fettle::enhance
