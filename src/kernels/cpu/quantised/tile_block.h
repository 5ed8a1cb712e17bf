// Products of bytes by matrix tiles (Intel AMX): blocks of 2 x 2 tiles of i32 sums, and the rows
// that they read. Only where GetAmxSets() has int8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/simd/amx_tiles.h"

namespace fettle::kernels {

inline constexpr int kTileColumns = 16;
/// Columns of a block, and its most rows.
inline constexpr int kBlockColumns = 2 * kTileColumns, kMaxBlockRows = 2 * kMostTileRows;
/// Depth that one instruction sums, in bytes and in steps of 4.
inline constexpr int64_t kTileDepth = kMostTileBytes, kTileSteps = kTileDepth / 4;

/// The rows of a tile in one tap.
struct TileRows {
  const std::byte* first = nullptr;
  int64_t stride = 0;  // from row to row
  int64_t step = 0;    // to the next kTileDepth bytes of each row
};

struct TileBlockArgs {
  /// By tap, of each of the two row tiles; the second is null where there is but one.
  const TileRows* a[2] = {};
  int64_t taps = 1;
  int64_t chunks = 0;             // of kTileDepth, per tap
  const std::byte* b = nullptr;   // [taps * chunks][kTileSteps][kBlockColumns][4 bytes]
  bool narrow = false;            // no more than kTileColumns columns matter
  const int32_t* init = nullptr;  // what the sums of each column start from
  int32_t* sums = nullptr;        // [2 * tile rows][kBlockColumns], 64-byte aligned
  int tile_rows = kMostTileRows;
  /// `b` is read for the first time: from memory, a way ahead of its use.
  bool b_is_far = false;
};
using TileBlock = void (*)(const TileBlockArgs& args);

/// The blocks for bytes of these types. To be called where AmxTiles holds BlockTiles(tile_rows).
TileBlock GetTileBlock(bool signed_a, bool signed_b);

/// A tile of rows by pointers to them, `tile_rows` or less.
struct RowPointers {
  const uint8_t* const* at = nullptr;  // [tap][row]
  int64_t rows = 0, taps = 1;
  int64_t offset = 0;  // of the first byte that counts, from each
};

/// The rows in each tap, of `chunks` chunks: as they lie, where that is evenly; otherwise copied to
/// `copies`, taps * chunks * tile_rows * kTileDepth bytes. Up to a chunk past the depth is read.
void ReadTileRows(const RowPointers& rows, int tile_rows, int64_t chunks, std::byte* copies,
                  TileRows* out);

/// All taps as one, `depth` bytes of each side by side, copied.
TileRows JoinTileRows(const RowPointers& rows, int tile_rows, int64_t depth, std::byte* copies);

}  // namespace fettle::kernels
