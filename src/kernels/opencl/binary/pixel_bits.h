// A product of bits on OpenCL devices, by whatever instructions: its pixels, what its results are,
// and the options and operands that its programs share (results.clh).
#pragma once

#include "kernels/opencl/binary/bit_filter.h"
#include "kernels/opencl/binary/bit_states.h"
#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

struct PixelBits : BitProduct {
  PixelConv conv;  // rows of a matrix are the pixels of one line
  BitResult result = BitResult::kScaled;

  /// Bits leave in pieces of 8 or 16.
  bool leaves_bits() const { return to_bits || tail.packs_bits(); }
  int64_t group_outputs() const { return product.outputs / product.groups; }
  bool TakesQuads(int64_t quads) const {
    if (leaves_bits() && quads < 2) return false;
    return product.groups == 1 || group_outputs() % (4 * quads) == 0;
  }
  /// Those of whole words where bits leave.
  int64_t stored_outputs() const {
    return leaves_bits() ? ops::WordsOf(conv.oc) * ops::kWordBits : conv.oc;
  }
  const Constant& numbers(const ir::Graph& group) const { return *group.value(results).constant; }
};

/// kUnsupported with the reason where the group is none, has three spatial axes or outputs of a
/// group that fill no blocks, or needs doubles that the device has not.
Result<PixelBits> ReadPixelBits(const ir::Graph& group, const Device& device);

/// Family::states.
Result<std::vector<StateAssignment>> PixelBitStates(const ir::Graph& group, const PixelBits& facts,
                                                    const Device& device);

/// The macros of results.clh but for its tile; `like` is the state of the floats.
void DefineBitResults(const PixelBits& facts, const BitCounts& counts, BuildOptions& options);

/// Appends x, the floats and the bits that the group has; `lanes` are the outputs of a piece.
void AppendBitOperands(const Problem& problem, const PixelBits& facts, const State& like,
                       int64_t lanes, RecordedLaunch& launch);

}  // namespace fettle::kernels
