// The integer micro-kernels: one register tile of i32 sums of products, for the best instruction
// set at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

/// One tile. A step reads 4 bytes of each row and 4 bytes of each column: four u8 times four i8, or
/// two i16 times two i16 (`wide`). Rows are given by pointers, one per tap and row, as in TileArgs.
struct QuantTileArgs {
  const std::byte* const* a = nullptr;
  int64_t a_offset = 0;  // bytes
  int64_t taps = 1;
  int64_t steps = 0;             // per tap
  const std::byte* b = nullptr;  // [taps * steps][nr][4 bytes]
  int32_t* c = nullptr;          // [rows][nr], 64-byte aligned
};

inline constexpr int kMaxQuantRows = 28;
inline constexpr int kMaxQuantSums = 448;  // of one tile

struct QuantKernels {
  const char* name = "";  // part of pack recipes
  int mr = 0;
  int nr = 0;
  /// True: both operands are i16 with their zero points taken off. False: u8 times i8 as they are.
  bool wide = true;
  using Run = void (*)(const QuantTileArgs&);
  Run tile[kMaxQuantRows + 1] = {};
};

/// Whether kernels run by 512-bit vectors with VNNI: the machine has them, and no test forces
/// lesser ones upon Highway.
bool RunsAvx512Vnni();

/// The best set that this machine runs for products of `columns` columns.
const QuantKernels& GetQuantKernels(int64_t columns);

/// Null where the build's target does not have them. Of the first there are two sets: tiles of 32
/// columns, and of 16 for up to 16 and for 33 to 48 columns, of which 32 would waste a quarter or
/// more.
const QuantKernels* QuantKernelsAvx512Vnni(int64_t columns);
const QuantKernels* QuantKernelsAvx2();

}  // namespace fettle::kernels
