// Weights of floats in fewer bits.
#pragma once

#include <string>

#include "ir/graph.h"
#include "tensor/compact_floats.h"

namespace fettle::passes {

/// What rounding did.
struct RoundedWeights {
  int count = 0;
  /// Signal to noise of the worst one: its squares over those of what was rounded away. Infinite
  /// where nothing was.
  double least_db = 0;
};

/// Rounds constants of f32 over 4 KiB that Conv, ConvTranspose, Gemm and MatMul of the main graph
/// multiply by, to halves or to bytes with a step for each output; graphs stay f32, and hold the
/// rounded weights in that form. Those that are exact in few bits stay, and for halves those beyond
/// their range. Call it behind all passes, which fold factors into weights. Fails with
/// kOutOfMemory.
Result<RoundedWeights> RoundWeights(ir::Graph& graph, CompactForm form);

}  // namespace fettle::passes
