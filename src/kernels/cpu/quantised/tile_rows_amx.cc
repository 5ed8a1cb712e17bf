// Rows for matrix tiles: taken as they lie, or copied by vectors.
#include "kernels/cpu/quantised/tile_block.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#include <algorithm>

namespace fettle::kernels {
namespace {

void CopyChunk(const std::byte* from, std::byte* to) {
  _mm512_storeu_si512(to, _mm512_loadu_si512(from));
}

const std::byte* Row(const RowPointers& rows, int64_t tap, int64_t r) {
  return reinterpret_cast<const std::byte*>(rows.at[tap * rows.rows + r]) + rows.offset;
}

/// Whether the rows of a tap lie evenly.
bool AreEven(const RowPointers& rows, int64_t tap) {
  const uint8_t* const* at = rows.at + tap * rows.rows;
  const auto distance = [&](int64_t r) {
    return reinterpret_cast<intptr_t>(at[r]) - reinterpret_cast<intptr_t>(at[r - 1]);
  };
  intptr_t different = 0;
  for (int64_t r = 2; r < rows.rows; ++r) different |= distance(r) ^ distance(1);
  return different == 0;
}

// Copies of up to so many bytes. The narrower ones cross fewer cache lines.
struct Bytes16 {
  static void Copy(__mmask64 mask, const std::byte* from, std::byte* to) {
    const auto m = static_cast<__mmask16>(mask);
    _mm_mask_storeu_epi8(to, m, _mm_maskz_loadu_epi8(m, from));
  }
};
struct Bytes32 {
  static void Copy(__mmask64 mask, const std::byte* from, std::byte* to) {
    const auto m = static_cast<__mmask32>(mask);
    _mm256_mask_storeu_epi8(to, m, _mm256_maskz_loadu_epi8(m, from));
  }
};
struct Bytes64 {
  static void Copy(__mmask64 mask, const std::byte* from, std::byte* to) {
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
  }
};

/// Bytes of one tap that lie within a chunk, and where those of the first row go.
struct Part {
  int64_t tap, from, bytes;
  std::byte* to;
};

template <typename Bytes>
void CopyPart(const RowPointers& rows, const Part& part) {
  const __mmask64 mask = ~uint64_t{0} >> (kTileDepth - part.bytes);
  const uint8_t* const* at = rows.at + part.tap * rows.rows;
  const int64_t offset = rows.offset + part.from;
  for (int64_t r = 0; r < rows.rows; ++r)
    Bytes::Copy(mask, reinterpret_cast<const std::byte*>(at[r]) + offset, part.to + r * kTileDepth);
}

}  // namespace

void ReadTileRows(const RowPointers& rows, int tile_rows, int64_t chunks, std::byte* copies,
                  TileRows* out) {
  for (int64_t t = 0; t < rows.taps; ++t, copies += chunks * tile_rows * kTileDepth) {
    // A short tile is copied: rows behind its last one may be nobody's memory.
    if (rows.rows == tile_rows && AreEven(rows, t)) {
      const int64_t stride = tile_rows == 1 ? 0 : Row(rows, t, 1) - Row(rows, t, 0);
      out[t] = {Row(rows, t, 0), stride, kTileDepth};
      continue;
    }
    for (int64_t r = 0; r < rows.rows; ++r) {
      const std::byte* from = Row(rows, t, r);
      for (int64_t c = 0; c < chunks; ++c)
        CopyChunk(from + c * kTileDepth, copies + (c * tile_rows + r) * kTileDepth);
    }
    out[t] = {copies, kTileDepth, tile_rows * kTileDepth};
  }
}

TileRows JoinTileRows(const RowPointers& rows, int tile_rows, int64_t depth, std::byte* copies) {
  // Whole taps go to their places: what was stored in parts is not read again soon.
  for (int64_t t = 0; t < rows.taps; ++t) {
    for (int64_t from = 0; from < depth;) {
      const int64_t k = t * depth + from, in_chunk = k % kTileDepth;
      const int64_t bytes = std::min(depth - from, kTileDepth - in_chunk);
      const Part part{t, from, bytes, copies + k / kTileDepth * tile_rows * kTileDepth + in_chunk};
      if (bytes <= 16) {
        CopyPart<Bytes16>(rows, part);
      } else if (bytes <= 32) {
        CopyPart<Bytes32>(rows, part);
      } else {
        CopyPart<Bytes64>(rows, part);
      }
      from += bytes;
    }
  }
  return {copies, kTileDepth, tile_rows * kTileDepth};
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void ReadTileRows(const RowPointers&, int, int64_t, std::byte*, TileRows*) {}
TileRows JoinTileRows(const RowPointers&, int, int64_t, std::byte*) { return {}; }
}  // namespace fettle::kernels
#endif
