// Weights of BlockMatMul as panels of 16 columns, and the rows that multiply them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/quantise/block_product.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

inline constexpr int64_t kBlockColumns = 16;
inline constexpr int kMaxBlockRows = 8;

/// A panel holds its blocks one behind the other, each read once, in order:
///  4 bits: [block / 8][16 columns][4] bytes; vector j has the codes 4 j + i in its low halves and
///          those block / 2 behind them in its high ones
///  5 bits (blocks of 32) and 6 (of 16): the lowest 4 as above, then a vector of 64 bytes with the
///          others: those of codes 4 i .. 4 i + 3 from bit i (or 2 i) on
///  8 bits: [block / 4][16][4] bytes
/// then 16 scales and 16 minima, halves as the constants are (`halves`), or floats. Minima that are
/// `times_scale` times the scales are left out.
/// Where `step_blocks` blocks share a step, scales and minima stand in front of all blocks instead:
/// 16 steps of the scales, 16 of the minima, halves, then for each of these blocks 16 and 16 signed
/// bytes, which are multiplied by them.
/// Columns that are missing are 0. Behind all panels, of one matrix behind those of the other, lies
/// a line whose first byte is the greatest code.
struct BlockLayout {
  int64_t n = 0, k = 0, block = 0;  // of a matrix
  int64_t matrices = 1;
  int bits = 4;
  bool halves = false;
  float times_scale = 0;  // 0: minima are there
  int64_t step_blocks = 0;
  /// Of rounded rows: how many arrays of sums there are, and which is for this product.
  int64_t row_sums = 1, sums = 0;
  bool row_words = false;  // whether rows have their bytes as words, too

  bool has_planes() const { return bits == 5 || bits == 6; }
  /// Of a panel whose codes became bytes.
  BlockLayout InBytes() const {
    BlockLayout bytes = *this;
    bytes.bits = 8;
    return bytes;
  }
  int64_t blocks() const { return k / block; }
  int64_t panels() const { return (n + kBlockColumns - 1) / kBlockColumns; }
  int64_t code_bytes() const { return block * bits / 8 * kBlockColumns; }
  /// Scales and minima, or scales alone.
  int64_t kinds() const { return times_scale == 0 ? 2 : 1; }
  /// Of a panel whose scales have steps, made floats.
  int64_t scaled_floats() const { return step_blocks > 0 ? blocks() * kinds() * kBlockColumns : 0; }
  int64_t scale_bytes() const { return step_blocks > 0 ? 0 : kBlockColumns * (halves ? 2 : 4); }
  int64_t step_bytes() const { return kinds() * kBlockColumns * (2 + step_blocks); }
  int64_t front_bytes() const {
    return step_blocks > 0 ? (blocks() / step_blocks * step_bytes() + 63) / 64 * 64 : 0;
  }
  int64_t block_bytes() const { return code_bytes() + kinds() * scale_bytes(); }
  int64_t panel_bytes() const { return front_bytes() + blocks() * block_bytes(); }
  int64_t matrix_bytes() const { return panels() * panel_bytes(); }
  int64_t greatest_at() const { return matrices * matrix_bytes(); }
  int64_t bytes() const { return greatest_at() + 64; }

  /// A rounded row: k signed bytes, then for each block its step, then arrays of step * sum of its
  /// bytes, each times a factor: times_scale, or 1 where minima are there. Then its bytes as words,
  /// the second and the third of each four in the other's place.
  int64_t steps_at() const { return (k + 63) / 64 * 64; }
  int64_t words_at() const { return (steps_at() + (1 + row_sums) * blocks() * 4 + 63) / 64 * 64; }
  int64_t row_bytes() const { return words_at() + (row_words ? (2 * k + 63) / 64 * 64 : 0); }
  /// From a block's step to its sum.
  int64_t sum_at() const { return (1 + sums) * blocks(); }
};

/// Writes layout.bytes() bytes of constants [matrices * n, ..], whatever their shapes say.
void PackBlocks(const BlockLayout& layout, const Constant& codes, const Constant& scales,
                const Constant& minima, std::byte* out);

/// c[rows][columns] = rounded rows times a panel.
struct BlockTile {
  const BlockLayout* layout = nullptr;
  const std::byte *codes = nullptr, *scales = nullptr;  // of the first block
  int64_t codes_stride = 0, scales_stride = 0;          // bytes from a block to the next
  const std::byte* rows = nullptr;                      // layout->row_bytes() apart
  float* c = nullptr;
  int64_t c_stride = 0;
  int64_t columns = 0;  // 1 .. 16
};

using BlockTileRun = void (*)(const BlockTile&);

/// Codes up to it may be multiplied by faster functions.
constexpr uint8_t SmallCode(int64_t block) { return block == 32 ? 31 : 63; }

/// The functions of one instruction set.
struct BlockKernels {
  int rows = 1;  // the most that a tile takes
  /// By the number of rows; null where fewer are taken, and the rest then.
  BlockTileRun nibbles[kMaxBlockRows + 1] = {}, bytes[kMaxBlockRows + 1] = {};
  bool bytes_take_words = false;
  /// Those of bytes up to SmallCode(block).
  BlockTileRun small[kMaxBlockRows + 1] = {};
  /// Rows by a panel with planes; null where unpacking it is faster.
  BlockTileRun planes[kMaxBlockRows + 1] = {};
  /// The codes of a panel with planes as bytes, without scales between them.
  void (*unpack)(const BlockLayout& layout, const std::byte* panel, std::byte* out) = nullptr;
  /// Scales and minima that have steps as floats: [blocks][kinds][16].
  void (*scale)(const BlockLayout& layout, const std::byte* panel, float* out) = nullptr;
  /// k floats to a rounded row.
  void (*round)(const BlockLayout& layout, const float* a, std::byte* row) = nullptr;

  /// Those for weights that were packed, by the number of rows.
  const BlockTileRun* TilesOf(const BlockLayout& layout, const std::byte* packed) const {
    if (layout.bits == 4) return nibbles;
    if (layout.has_planes()) return planes;
    const auto greatest = static_cast<uint8_t>(packed[layout.greatest_at()]);
    return greatest <= SmallCode(layout.block) ? small : bytes;
  }
};
/// The fastest that this CPU runs.
const BlockKernels& GetBlockKernels();
/// Null where the compiler has none.
const BlockKernels* BlockKernelsAvx2();
const BlockKernels* BlockKernelsAvxVnni();
const BlockKernels* BlockKernelsAvx512Vnni();

}  // namespace fettle::kernels
