#include "kernels/cpu/half_weights/panels.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/file.h"
#include "kernels/cpu/simd/storage.h"
#include "tensor/read_floats.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

/// Elements converted at a time: small enough for the first-level cache.
constexpr int64_t kChunk = 2048;
/// Bytes of the file that stay in memory beside what is packed of them.
constexpr int64_t kKept = int64_t{1} << 20;

/// Elements [begin, begin + count) of the weights, count <= kChunk, as halves.
void ReadHalves(const Constant& weights, int64_t begin, int64_t count, DType storage,
                uint16_t* out) {
  float piece[kChunk];
  ReadFloats(weights, begin, count, piece);
  ConvertRow(DType::kF32, reinterpret_cast<const std::byte*>(piece), storage,
             reinterpret_cast<std::byte*>(out), count);
}

/// Columns [first, first + columns) of a transposed matrix, whose rows they are.
void PackColumns(const HalfPanels& p, const Constant& weights, int64_t first, int64_t columns,
                 uint16_t* out) {
  uint16_t piece[kChunk];
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t k = 0; k < p.k; k += kChunk) {
      const int64_t count = std::min(kChunk, p.k - k);
      ReadHalves(weights, (first + column) * p.k + k, count, p.storage, piece);
      for (int64_t i = 0; i < count; ++i) out[(k + i) * p.nr + column] = piece[i];
    }
  }
}

/// Columns of k elements each, one behind the other.
void TransposeColumns(const HalfPanels& p, const std::byte* from, int64_t columns, uint16_t* out) {
  for (int64_t k = 0; k < p.k; ++k, from += 2, out += p.nr) {
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(out + column, from + column * p.k * 2, 2);
  }
}

}  // namespace

void PackHalfPanels(const HalfPanels& p, const Constant& weights, std::byte* out) {
  const std::span<const std::byte> stored = SixteenBitsOf(weights) == p.storage
                                                ? SixteenBitBytes(weights, !p.transposed)
                                                : std::span<const std::byte>();
  int64_t dropped = 0;
  for (int64_t panel = 0; panel < p.count(); ++panel) {
    auto* to = reinterpret_cast<uint16_t*>(out) + panel * p.k * p.nr;
    const int64_t first = panel * p.nr, columns = std::min(p.nr, p.n - first);
    if (columns < p.nr) std::fill_n(to, p.k * p.nr, uint16_t{0});
    if (!stored.empty()) {
      const int64_t end = (first + columns) * p.k * 2;
      TransposeColumns(p, stored.data() + first * p.k * 2, columns, to);
      if (end - dropped > kKept) {
        DropMappedPages(stored.subspan(dropped, end - dropped));
        dropped = end;
      }
      continue;
    }
    if (p.transposed) {
      PackColumns(p, weights, first, columns, to);
      continue;
    }
    for (int64_t k = 0; k < p.k; ++k)
      ReadHalves(weights, k * p.n + first, columns, p.storage, to + k * p.nr);
  }
}

}  // namespace fettle::kernels
