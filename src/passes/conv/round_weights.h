// Weights of floats in fewer bits.
#pragma once

#include <string>

#include "ir/graph.h"
#include "tensor/compact_floats.h"

namespace fettle::passes {

/// The result of rounding.
struct RoundedWeights {
  int count = 0;
  /// Signal to noise of the worst constant: its squares over those of its rounding errors. Infinite
  /// where nothing was rounded.
  double least_db = 0;
};

/// Rounds constants of f32 over 4 KiB by which Conv, ConvTranspose, Gemm and MatMul of the main
/// graph multiply, to halves or to bytes with a step for each output. Graphs stay f32 and hold the
/// rounded weights in that form. Weights that are exact in few bits stay; so do those beyond the
/// range of halves. Call it behind all passes, which fold factors into weights. Fails with
/// kOutOfMemory.
Result<RoundedWeights> RoundWeights(ir::Graph& graph, CompactForm form);

}  // namespace fettle::passes
