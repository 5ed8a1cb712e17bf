// The fp32 micro-kernels: one register tile of C = A * B, for the best instruction set at hand.
#pragma once

#include <cstdint>
#include <limits>

namespace fettle::kernels {

/// One tile. Row r of A at depth t * depth + k is a[t * rows + r][a_offset + k]: rows are given by
/// pointers, one per tap and row, so that a convolution needs no im2col (the indirect convolution
/// of Dukhan, 2019). B is read `columns` wide (rounded up to whole vectors) every b_step elements.
struct TileArgs {
  const float* const* a = nullptr;
  /// Where not 0: the rows of every tap lie a_step elements apart, from its first pointer on, and
  /// no other pointer is read. Spares their loads, which bind tiles of one vector.
  int64_t a_step = 0;
  /// Where not 0, and with it a_step: the rows of a tap lie tap_step elements behind those of the
  /// one before, and the first pointer alone is read.
  int64_t tap_step = 0;
  int64_t a_offset = 0;
  int64_t taps = 1;
  int64_t depth = 0;
  const float* b = nullptr;
  int64_t b_step = 0;
  /// Tiles of few rows fetch B ahead, past the end of a page.
  bool far_b = false;
  /// What a later pass reads as B, or A, brought into the second-level cache meanwhile: with each
  /// step of the depth, next_step elements from here on and as many from taps * depth * next_step
  /// elements behind. Tiles of up to 4 rows, and steps of 0, need fetch nothing.
  const float* next_b = nullptr;
  int64_t next_step = 0;
  /// Tiles of mr rows whose rows follow each other in A, C, the addend and what is fetched: at
  /// once, because getting ready for a tile takes as long as ten steps of its depth. Only with one
  /// tap and a_step not 0.
  int64_t repeat = 1;
  /// Where not 0, these tiles are of the same rows instead, side by side in C and repeat_b elements
  /// apart in B; without an addend.
  int64_t repeat_b = 0;
  float* c = nullptr;
  int64_t c_stride = 0;         // elements between rows
  int64_t c_half = 0;           // from the first nr / 2 columns of a row to the others
  int64_t columns = 0;          // 1 .. nr
  const float* bias = nullptr;  // nr values, or null for zero
  bool accumulate = false;      // start from C instead of the bias
  /// Added before the bounds: a tensor that lies as C does, from C's first element. Or null.
  const float* addend = nullptr;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

inline constexpr int kMaxTileRows = 16;

/// The micro-kernels of one instruction set. tile[rows] computes `rows` rows of up to nr columns;
/// narrow[rows] the same for up to nr / 2 columns; narrow_pair[rows] for mr < rows <= 2 * mr,
/// a_step not 0, pointers as those of a tile of mr rows, where one tile has too few sums to keep
/// the processor busy, else null. All of them add in ascending depth, so that an element's value
/// depends on no tiling; except rows <= 4, which may keep several partial sums.
struct MicroKernels {
  int mr = 0;
  int nr = 0;
  void (*tile[kMaxTileRows + 1])(const TileArgs&) = {};
  void (*narrow[kMaxTileRows + 1])(const TileArgs&) = {};
  void (*narrow_pair[2 * kMaxTileRows + 1])(const TileArgs&) = {};
};

/// The widest set that this machine runs (see CpuInfo for FETTLE_CPU_ISA).
const MicroKernels& GetMicroKernels();

}  // namespace fettle::kernels
