// Convolutions of planes, ordinary and transposed: which inputs and taps each output uses along
// each axis, and the packed weights.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/pixels.h"
#include "kernels/cpu/conv/plane_sums.h"
#include "kernels/kernel.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// Output columns that are equal modulo the stride of a transposed convolution meet the same taps.
/// Output phase + j * phases reads input j * step + offsets[i] at kernel column taps[i].
struct PlanePhase {
  std::vector<int64_t> taps, offsets;
};

/// The output planes of a group in blocks of about equally many.
struct PlaneBlocks {
  int64_t outputs = 0, each = 0;

  explicit PlaneBlocks(int64_t planes);
  int64_t OutputsAt(int64_t first) const { return std::min(each, outputs - first); }
  /// The number of outputs for which weights are stored before those of output `first`, and in all.
  int64_t StoredBefore(int64_t first) const { return first / each * PlaneBlock(each); }
  int64_t stored() const;
};

/// Multiply-adds of one task, so that a task takes some microseconds.
inline constexpr int64_t kPlaneTaskMacs = 100'000;

struct PlaneProblem {
  ConvOperands operands;
  ConvGeometry read, g;  // in g a 1x1 convolution of whole planes is one of a line
  bool transposed = false;
  std::vector<PlanePhase> phases;  // those of a transposed convolution, or one
  int64_t low = 0, high = 0;       // the least and the greatest offset of all

  int64_t inputs() const { return g.ic / g.groups; }
  int64_t outputs() const { return g.oc / g.groups; }
  int64_t num_phases() const { return static_cast<int64_t>(phases.size()); }
  /// From input to input that neighbouring outputs of a phase read.
  int64_t step() const { return transposed ? 1 : g.stride[2]; }
  /// Kernel rows of all axes but the last.
  int64_t kernel_rows() const { return g.kernel[0] * g.kernel[1]; }
  /// Multiply-adds for an element of the output.
  int64_t macs() const;
  /// Whether few multiply-adds stand against the conversion of an element of the output or the
  /// input, or outputs are so few that each line is read once.
  bool is_light() const;
  /// Whether computing many rows at once is better (cpu.conv.planes.flat): unless rows fill vectors
  /// by themselves.
  bool suits_flat() const;
  /// Lines of a plane that an output row meets, from the first to the last of an image.
  int64_t window() const;
  /// The input position that `output` of an axis meets through kernel row `k`; -1 for padding.
  int64_t InputOf(int axis, int64_t output, int64_t k) const;
  /// Whether lines are read in place.
  bool reads_lines() const;
  /// Output columns, a multiple of the phases, that are computed at once, so that their lines stay
  /// near.
  int64_t columns() const;
  /// Of a copied line every step-th element that columns() meet. Odd, so that lines do not lie
  /// whole pages apart.
  int64_t part_floats() const;
  /// Changes it to the extents of `group`, an ordinary convolution; says whether it could. `out`:
  /// the pixels of its output.
  bool MoveTo(const ir::Graph& group, PixelLayout& out);
  int64_t ring_floats() const { return inputs() * g.kernel[0] * window() * step() * part_floats(); }
};

/// Of node 0 of `group`, a Conv or ConvTranspose. Fails with kUnsupported and the reason.
Result<PlaneProblem> ReadPlanes(const ir::Graph& group, bool transposed);

/// Asks for the weights, [group][block][phase][input][kernel row][tap of the phase][output of the
/// block], then the bias, [group][block][output of the block].
PackRequest RequestPlanes(const PlaneProblem& conv);

}  // namespace fettle::kernels
