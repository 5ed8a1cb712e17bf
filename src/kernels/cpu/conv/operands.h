// The operands of a convolution-like group and what its kernels demand of them.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

struct ConvOperands {
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, b = ir::kAbsent;
  /// Weights (and the bias, where there is one) are computed: packed by each launch.
  bool computed = false;
};

/// Reads node 0, which must be `op` with a computed input and a float type; otherwise kUnsupported
/// with the reason. Weights and bias (kAbsent where left out) are both constant or, where
/// `allow_computed`, both computed.
Result<ConvOperands> ReadConvOperands(const ir::Graph& group, std::string_view op,
                                      bool allow_computed = false);

/// ChannelsLastStates with computed weights row-major.
Result<StateAssignment> ConvStates(const ir::Graph& group, const ConvOperands& operands);

}  // namespace fettle::kernels
