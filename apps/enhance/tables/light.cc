#include "tables/light.h"

#include <algorithm>
#include <cstdint>

#include "tables/rows.h"

namespace fettle::enhance {
namespace {

constexpr int kCell = 64;
constexpr int kRowStep = 4;

struct Sum {
  double sum = 0;
  int64_t count = 0;
};

/// Of whole cells, those at the right and lower border cut. Columns first: 16 bits hold a cell's.
std::vector<Sum> SumsOf(const Plane& luma, int cell, int across, int down) {
  std::vector<Sum> sums(static_cast<size_t>(across) * down);
  std::vector<uint16_t> columns(static_cast<size_t>(luma.width));
  std::vector<uint32_t> deep(luma.depth > 8 ? columns.size() : 0);
  const auto width = static_cast<size_t>(luma.width);
  for (int line = 0; line < down; ++line) {
    std::ranges::fill(columns, 0);
    std::ranges::fill(deep, 0);
    const int begin = line * cell, end = std::min(begin + cell, luma.height);
    // At most 64 rows of bytes, however large the cell.
    const int step = kRowStep * std::max(1, cell / 128);
    for (int y = begin; y < end; y += step) {
      if (deep.empty()) {
        AddRow(luma.row<uint8_t>(y), luma.width, columns.data());
      } else {
        const uint16_t* row = luma.row<uint16_t>(y);
        for (size_t x = 0; x < width; ++x) deep[x] += row[x];
      }
    }
    const int rows = (end - begin + step - 1) / step;
    for (size_t x = 0; x < width; x += static_cast<size_t>(cell)) {
      const size_t last = std::min(x + static_cast<size_t>(cell), width);
      uint64_t sum = 0;
      for (size_t i = x; i < last; ++i) sum += deep.empty() ? columns[i] : deep[i];
      sums[static_cast<size_t>(line) * across + x / cell] = {static_cast<double>(sum),
                                                             static_cast<int64_t>(last - x) * rows};
    }
  }
  return sums;
}

}  // namespace

LightGrid LightGridOf(const Plane& luma) {
  LightGrid grid{.cell = kCell * std::max(1, (luma.width + kCell * 5) / (kCell * 20))};
  const int cells_across = (luma.width + grid.cell - 1) / grid.cell;
  const int cells_down = (luma.height + grid.cell - 1) / grid.cell;
  const std::vector<Sum> sums = SumsOf(luma, grid.cell, cells_across, cells_down);
  grid.across = cells_across + 1;
  grid.down = cells_down + 1;
  const double unit = 255.0 / WhiteOf(luma.depth);
  for (int y = 0; y < grid.down; ++y)
    for (int x = 0; x < grid.across; ++x) {
      Sum around;
      for (int j = std::max(y - 1, 0); j < std::min(y + 1, cells_down); ++j)
        for (int i = std::max(x - 1, 0); i < std::min(x + 1, cells_across); ++i) {
          const Sum& cell = sums[static_cast<size_t>(j) * cells_across + i];
          around.sum += cell.sum;
          around.count += cell.count;
        }
      grid.means.push_back(static_cast<float>(around.sum * unit / around.count));
    }
  return grid;
}

}  // namespace fettle::enhance
