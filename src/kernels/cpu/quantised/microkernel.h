// The integer micro-kernels: one register tile of i32 sums of products, for the best instruction
// set at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

struct RequantiseArgs;

/// One tile. A step reads 4 bytes of each row and 4 bytes of each column: four u8 times four i8, or
/// two i16 times two i16 (`wide`). Rows are given by pointers, one per tap and row, as in TileArgs.
struct QuantTileArgs {
  const std::byte* const* a = nullptr;
  int64_t a_offset = 0;  // bytes
  /// Only where the kernels finish tiles: null, or one pointer per row and what each tap adds to
  /// it.
  const int64_t* tap_offsets = nullptr;
  int64_t taps = 1;
  int64_t steps = 0;  // per tap
  /// [taps * steps][nr][4 bytes], or 2 bytes where they are narrow; of `bits`: [2][nr][4 bytes],
  /// then [taps * steps][nr][4 bits].
  const std::byte* b = nullptr;
  /// What a later tile reads as B, brought into the second-level cache meanwhile. Where tiles are
  /// of 512-bit vectors: with each step, next_step bytes from here on and as many from taps * steps
  /// * next_step bytes behind. Where kernels repeat: with each step of all `repeat` tiles the line
  /// next_step bytes behind the one before.
  const std::byte* next_b = nullptr;
  int64_t next_step = 0;
  int32_t* c = nullptr;  // [rows][nr], 64-byte aligned

  /// The next three only where the kernels finish tiles. Not 0: rows of c lie so many elements
  /// apart, of any alignment.
  int64_t c_stride = 0;
  /// What sums begin with, of nr columns; null: 0.
  const int32_t* init = nullptr;
  /// Where not null, floats are stored instead of sums: sum * scale[n] + add[n], both rounded. Only
  /// where the kernels scale.
  const float* scale = nullptr;
  const float* add = nullptr;
  /// Null: sums are stored. Otherwise the bytes of the tile's rows are, in registers, as
  /// RequantiseBytesAvx512 makes them; sums, rows and init are not read.
  const RequantiseArgs* results = nullptr;

  /// What is taken off all sums of each row, or null. Only where the kernels lessen.
  const int32_t* row_less = nullptr;

  /// Where a_step is not 0: so many tiles below each other, of one tap, whose rows lie a_step bytes
  /// apart from the first of `a` on. Their sums follow each other. Only where the kernels repeat.
  int64_t repeat = 1, a_step = 0;
};

inline constexpr int kMaxQuantRows = 28;
inline constexpr int kMaxQuantSums = 448;  // of one tile
/// QuantTileArgs::row_less of nothing.
inline constexpr int32_t kNothingLess[kMaxQuantRows] = {};

struct QuantKernels {
  const char* name = "";  // part of pack recipes
  int mr = 0;
  int nr = 0;
  /// True: both operands are i16 with their zero points taken off. False: u8 times i8 as they are.
  bool wide = true;
  /// Of wide ones: each i16 of B is a byte in memory, with its sign.
  bool narrow = false;
  bool finishes = false;  // see QuantTileArgs::results
  bool repeats = false;   // see QuantTileArgs::repeat
  bool lessens = false;   // see QuantTileArgs::row_less
  bool scales = false;    // see QuantTileArgs::scale
  /// B has two bytes for each column, each four times, and bits that choose between them.
  bool bits = false;
  using Run = void (*)(const QuantTileArgs&);
  Run tile[kMaxQuantRows + 1] = {};
};

/// Whether kernels run by 512-bit vectors with VNNI: the machine has them, and no test forces
/// lesser ones upon Highway.
bool RunsAvx512Vnni();
/// Whether kernels of 256-bit vectors with fused multiply-adds do.
bool RunsAvx2();
/// Whether those with AVX-VNNI do. A CPU with AVX-512, too, takes 256-bit vectors in tests alone,
/// which are of plain AVX2.
bool RunsAvxVnni();

/// The best set that this machine runs for products of `columns` columns.
const QuantKernels& GetQuantKernels(int64_t columns);

/// Wide ones for weights of bytes, where GetQuantKernels are those of AVX2: reading B takes half as
/// long where it comes from memory, and making words of it is work. Null elsewhere.
const QuantKernels* GetNarrowKernels(int64_t columns);

/// Null where the build's target does not have them. Of the first there are two sets: tiles of 32
/// columns, and of 16 for up to 16 and for 33 to 48 columns, of which 32 would waste a quarter or
/// more. Of the last one too: of 16 columns, and of 8 for up to 8 and for 17 to 24.
const QuantKernels* QuantKernelsAvx512Vnni(int64_t columns);
const QuantKernels* QuantKernelsAvxVnni();
const QuantKernels* QuantKernelsAvx2(int64_t columns);
const QuantKernels* NarrowKernelsAvx2(int64_t columns);

/// For weights of two values for each column. Null where this machine, or a test that forces
/// lesser vectors, or the build has none.
const QuantKernels* GetBitKernels();
const QuantKernels* BitKernelsAvx512Vnni();

}  // namespace fettle::kernels
