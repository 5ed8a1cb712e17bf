// Weights of floats that have two values for each output, as integers times a step for each output.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/binary/weight_bits.h"

namespace fettle::kernels {

/// w = code * step of its output, exactly: codes are i8 of -1, 0 and 1.
struct SignCodes {
  Constant codes, steps;
};

/// Of a constant of f32 whose outputs have the values {-w, w}, {0, w} or one alone; codes share its
/// elements and are made when they are read. kUnsupported with the reason where an output has
/// others.
Result<SignCodes> MakeSignCodes(const Constant& w, const WeightOrder& order);

/// A product whose weights are constants of such floats, spelled with DequantizeLinear of codes.
struct SpelledProduct {
  std::shared_ptr<const ir::Graph> group;
  ir::ValueId weights = ir::kAbsent;  // the floats: of the group that was given, too
  WeightOrder order;
  ir::ValueId codes = ir::kAbsent, steps = ir::kAbsent;
};

/// Values of `group` keep their ids; `core` is its Conv, Gemm or MatMul.
Result<SpelledProduct> SpellWeights(const ir::Graph& group, const ir::Node& core);

}  // namespace fettle::kernels
