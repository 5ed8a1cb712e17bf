// The operands of a convolution-like group and what its kernels require of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "kernels/cpu/conv/pixels.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/kernel.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// ChannelsLastStates with computed weights row-major.
Result<StateAssignment> ConvStates(const ir::Graph& group, const ConvOperands& operands);

/// The layouts of a convolution's input and of its output; operands that join the output have the
/// latter. `external`: the input may be one that the caller bound (row-major).
struct ConvLayouts {
  Layout x, y;
  bool external = false;
};
/// `usual`, which is channels-last, in other layouts of the input `x` and of the operands with the
/// output's channels: the layouts that pass `check`. Fails where none does.
Result<std::vector<StateAssignment>> StatesIn(
    const ir::Graph& group, ir::ValueId x, const StateAssignment& usual,
    const std::vector<ConvLayouts>& layouts,
    const std::function<Status(const StateAssignment& states)>& check);
/// The same for ConvStates: those in which the group's element-wise tail can be finished.
Result<std::vector<StateAssignment>> ConvStatesIn(const ir::Graph& group,
                                                  const ConvOperands& operands,
                                                  const std::vector<ConvLayouts>& layouts);

/// The same with both row-major, the input also as the caller bound it.
Result<std::vector<StateAssignment>> RowMajorConvStates(const ir::Graph& group,
                                                        const ConvOperands& operands);

/// The pixels of a convolution's input and of its group's output, in the states of a problem.
struct ConvPixels {
  PixelLayout in, out;
};
Result<ConvPixels> ReadConvPixels(const Problem& problem, ir::ValueId x);

/// The channel-blocked layout for the vectors of this machine: NCHW16c or NCHW8c.
Layout ChannelBlockLayout();

/// Asks for the weights and, where there is one, the bias (else null) as `floats` floats. The
/// recipe gets a mark of the bias behind it.
PackRequest RequestWeights(
    const ConvOperands& operands, std::string recipe, int64_t floats,
    std::function<void(const Constant& w, const Constant* b, float* out)> pack);

/// The same as panels of nr columns (PackWeights), then the bias of each group padded to whole
/// panels.
PackRequest RequestPanels(const ConvOperands& operands, std::string recipe,
                          const WeightShape& weights, int nr);

}  // namespace fettle::kernels
