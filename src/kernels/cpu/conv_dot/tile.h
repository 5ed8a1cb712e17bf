// Tiles of dot products, for convolutions with so few output channels that vectors over them would
// be mostly empty: vectors run along the depth instead.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Output channels that the tiles take.
inline constexpr int kMaxDotOutputs = 4;
/// Weights of a tap are padded to whole vectors of the widest instruction set.
inline constexpr int64_t kDotPad = 16;
inline constexpr int kMaxDotRows = 8;

/// rows x outputs results; see TileArgs for `a`. No element past the depth of a tap is used.
struct DotTileArgs {
  const float* const* a = nullptr;  // [tap][row]
  int64_t taps = 0, depth = 0;
  const float* weights = nullptr;  // [tap][output][padded depth]
  const float* bias = nullptr;     // one per output
  float* c = nullptr;              // rows of `outputs` floats, dense
  float low = 0, high = 0;
};

struct DotKernels {
  int rows = 0;  // of a whole tile
  void (*whole)(const DotTileArgs&) = nullptr;
  void (*single)(const DotTileArgs&) = nullptr;  // one row
};

/// `outputs` in [1, kMaxDotOutputs].
DotKernels GetDotKernels(int outputs);

}  // namespace fettle::kernels
