// Strips of output pixels of a convolution: one vector of output channels of up to 14 pixels side
// by side, whose sums stay in registers while the kernel's columns pass over lines of inputs.
#pragma once

#include <cstdint>
#include <iterator>

namespace fettle::kernels {

inline constexpr int kMostStripOutputs = 14;
/// Kernel columns of strips that are not of planes.
inline constexpr int64_t kStripTaps = 3;
/// Pixels that strips of planes have.
inline constexpr int kPlaneStrips[] = {14, 10, 6, 4, 1};

/// How the inputs of a vector of output channels are used.
enum class StripForm {
  /// The vector holds whole groups, each of as many inputs as outputs: input i of every group meets
  /// the lanes of its group.
  kGroupsInVector,
  /// The vector is part of one group: each of the group's inputs meets all of its lanes.
  kVectorsInGroup,
  /// The same from an input whose channels are planes.
  kPlanes,
};

/// One line of pixels to what strips read: [vector of inputs][column][lane], kPlanes
/// [input][column]. Columns outside of the line become zeros.
struct SpreadArgs {
  /// The first of the inputs at column 0. Only kPlanes may read up to 64 bytes behind the last
  /// input.
  const float* line = nullptr;
  int64_t width = 0;               // columns of the line, `pixel` elements apart
  int64_t pixel = 0;               // kPlanes: 1
  int64_t plane = 0;               // kPlanes: elements from input to input
  int64_t first = 0, columns = 0;  // those that are wanted; the first may be negative
  int64_t inputs = 0;              // of a group; kGroupsInVector: of a vector
  int64_t next = 0;                // to the line that is wanted next
  float* out = nullptr;
};

/// y[o] = clamp(bias + sum of x[line][input][o * stride + tap] * w[line][input][tap]), pixel by
/// pixel.
struct StripArgs {
  /// Spread, one for each of num_lines kernel rows; kPlanes: also lines as they lie in the input.
  const float* const* lines = nullptr;
  int64_t num_lines = 0;
  int64_t input_step = 0;  // kPlanes: elements from input to input; else from vector to vector
  int64_t inputs = 0;      // of a group
  const float* weights = nullptr;  // [line][input][tap][lane]
  const float* bias = nullptr;     // whole vectors
  float low = 0, high = 0;
  float* out = nullptr;
  int64_t out_pixel = 0;  // elements from pixel to pixel
  int64_t channels = 0;   // to store, at most a vector; kPlanes: two
  // kPlanes:
  int64_t taps = 0;         // kernel columns
  int64_t vector_step = 0;  // elements from the weights of a vector to those of the next one
};

/// The kernels of one instruction set.
struct StripKernels {
  int64_t lanes = 0;
  int64_t most_outputs = 0;                   // of the forms but kPlanes
  void (*spread[3])(const SpreadArgs&) = {};  // by form
  /// [form][stride - 1][outputs] of the forms but kPlanes.
  void (*strip[2][2][kMostStripOutputs + 1])(const StripArgs&) = {};
  /// [vectors - 1][stride - 1][index into kPlaneStrips]; null where there are too few registers.
  void (*planes[2][2][std::size(kPlaneStrips)])(const StripArgs&) = {};
};

/// The widest set that this machine runs.
const StripKernels& GetStripKernels();

}  // namespace fettle::kernels
