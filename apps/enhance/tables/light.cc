#include "tables/light.h"

#include <algorithm>
#include <cstdint>

#include "tables/sums.h"

namespace fettle::enhance {
namespace {

constexpr int kCell = 64;
constexpr int kRowStep = 4;

struct Sum {
  uint64_t sum = 0;
  int64_t count = 0;
};

/// As SumCells, for samples of 16 bits.
void SumDeepCells(const Plane& luma, int begin, int step, int rows, int cell, uint64_t* sums) {
  for (int x = 0; x < luma.width; x += cell, ++sums) {
    *sums = 0;
    for (int y = 0; y < rows; ++y) {
      const uint16_t* row = luma.row<uint16_t>(begin + y * step);
      for (int i = x; i < std::min(x + cell, luma.width); ++i) *sums += row[i];
    }
  }
}

/// Of whole cells, those at the right and lower border cut.
std::vector<Sum> SumsOf(const Plane& luma, int cell, int across, int down) {
  std::vector<Sum> result;
  std::vector<uint64_t> sums(static_cast<size_t>(across));
  const int step = kRowStep * std::max(1, cell / 128);
  for (int line = 0; line < down; ++line) {
    const int begin = line * cell, end = std::min(begin + cell, luma.height);
    const int rows = (end - begin + step - 1) / step;
    if (luma.depth > 8) {
      SumDeepCells(luma, begin, step, rows, cell, sums.data());
    } else {
      SumCells(luma.row<uint8_t>(begin), step * static_cast<ptrdiff_t>(luma.stride), rows,
               luma.width, cell, sums.data());
    }
    for (int i = 0; i < across; ++i)
      result.push_back(
          {sums[static_cast<size_t>(i)], int64_t{std::min(cell, luma.width - i * cell)} * rows});
  }
  return result;
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
      grid.means.push_back(static_cast<float>(static_cast<double>(around.sum) * unit /
                                              static_cast<double>(around.count)));
    }
  return grid;
}

}  // namespace fettle::enhance
