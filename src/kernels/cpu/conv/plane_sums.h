// Sums of lines for convolutions of planes: a few output planes at once, each a broadcast weight
// times a vector of pixels that lie side by side.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// A line of one input plane that meets a kernel row. `index` says which weights meet it: those of
/// input * kernel rows + kernel row.
struct PlaneLine {
  const float* x = nullptr;
  int64_t index = 0;
};

/// out[o][i] = clamp(bias[o] + sum of lines[l].x[i + offsets[t]] * weights[lines[l].index][t][o]).
/// Nothing is read behind element count - 1 of a line at each tap.
struct PlaneArgs {
  const PlaneLine* lines = nullptr;
  int64_t num_lines = 0;
  int64_t taps = 0;  // kernel columns
  const int64_t* offsets = nullptr;
  const float* weights = nullptr;  // [index][tap][PlaneBlock(outputs)]
  const float* bias = nullptr;     // [PlaneBlock(outputs)]
  float low = 0, high = 0;
  float* out = nullptr;
  int64_t plane = 0;    // elements from output to output
  int64_t outputs = 0;  // at most PlaneKernels::most_outputs
  int64_t count = 0;    // pixels
};

/// Elements first, first + stride, ... of some lines: out[i] = line[first + i * stride], 0 outside
/// of [0, width).
struct PartArgs {
  const float* line = nullptr;
  int64_t num_lines = 1, line_step = 0;  // elements from line to line
  int64_t width = 0;
  int64_t first = 0, stride = 1, count = 0;
  float* out = nullptr;
  int64_t out_step = 0;  // elements from the copy of a line to that of the next one
};

/// The rows of the phases of a stride: element i of the result is that at i / num_rows of row i %
/// num_rows.
struct PhaseRows {
  /// Rows lie `pitch` elements apart; each has as many elements as the first, which may be one too
  /// many.
  const float* rows = nullptr;
  int64_t pitch = 0, num_rows = 0;
  /// The last rows that are not stored: all their elements are `rest`. Never all rows.
  int64_t missing = 0;
  float rest = 0;
  int64_t count = 0;  // elements of the result
  float* out = nullptr;
  /// Elements from `out` on that may be written, the results first; a vector may then be read
  /// behind each row. 0: only the results.
  int64_t room = 0;
};

/// Rows of which the first `width` elements of `pitch` are kept: row r begins at out[r * width].
/// Whole vectors are read, also behind the last row.
struct NarrowedRows {
  const float* rows = nullptr;
  int64_t pitch = 0, num_rows = 0, width = 0;
  float* out = nullptr;
};

/// Lines of planes added to others: out[p * out_plane + i * out_step + j] += in[p * in_plane + i *
/// in_step + j] for j < count.
struct AddedLines {
  const float* in = nullptr;
  int64_t in_step = 0, in_plane = 0;
  int64_t num_planes = 1, num_lines = 0, count = 0;
  float* out = nullptr;
  int64_t out_step = 0, out_plane = 0;
  /// Elements from `out` on that may be written: whole vectors of them are, with zeros added behind
  /// a line.
  int64_t room = 0;
};

/// The outputs for which weights are stored where there are `outputs`: sums are kept for as many.
int64_t PlaneBlock(int64_t outputs);

/// The kernels of one instruction set.
struct PlaneKernels {
  int64_t lanes = 0;
  int64_t most_outputs = 0;
  void (*run)(const PlaneArgs&) = nullptr;
  void (*copy)(const PartArgs&) = nullptr;
  void (*join_phases)(const PhaseRows&) = nullptr;
  void (*drop_columns)(const NarrowedRows&) = nullptr;
  void (*add_lines)(const AddedLines&) = nullptr;
  void (*fill)(float value, int64_t count, float* out) = nullptr;
};

/// The kernels of the widest set that this machine runs.
const PlaneKernels& GetPlaneKernels();

}  // namespace fettle::kernels
