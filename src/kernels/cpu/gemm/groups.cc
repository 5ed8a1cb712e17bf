#include <algorithm>

#include "kernels/cpu/gemm/block.h"

namespace fettle::kernels {
namespace {

/// The row of A that tap `t` of row `r` of a tile meets (TileArgs).
const float* RowOfTap(const TileSpan& tile, int64_t t, int64_t r) {
  if (tile.tap_step != 0) return tile.a[0] + t * tile.tap_step + r * tile.a_step;
  const float* const* rows = tile.a + t * tile.rows;
  return tile.a_step != 0 ? rows[0] + r * tile.a_step : rows[r];
}

}  // namespace

bool HasNan(const BlockArgs& args) {
  int odd = 0;
  for (const TileSpan& tile : args.tiles) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      const float* c = tile.c + r * args.c_stride;
      for (int64_t n = 0; n < args.columns; ++n) odd |= c[n] != c[n] ? 1 : 0;
    }
  }
  return odd != 0;
}

void RunGroupsApart(const BlockArgs& args, int64_t nr) {
  const int64_t depth = args.depth / args.joined, width = args.columns / args.joined;
  for (const TileSpan& tile : args.tiles) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t n = 0; n < args.columns; ++n) {
        const int64_t first = n / width * depth;
        float sum = args.bias == nullptr ? 0 : args.bias[n];
        for (int64_t t = 0; t < args.taps && depth > 0; ++t) {
          const float* a = RowOfTap(tile, t, r) + args.a_offset + first;
          const float* b = args.b + (t * args.depth + first) * nr + n;
          for (int64_t k = 0; k < depth; ++k) sum += a[k] * b[k * nr];
        }
        // This order of operands lets NaN through.
        sum = sum < args.low ? args.low : sum;
        tile.c[r * args.c_stride + n] = args.high < sum ? args.high : sum;
      }
    }
  }
}

}  // namespace fettle::kernels
