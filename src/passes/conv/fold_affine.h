// Scales and shifts per channel behind a convolution or matrix product.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Folds BatchNormalization, and Mul, Add and Sub with a constant per output channel (or one for
/// all), into the constant weights and bias of the Conv, ConvTranspose, Gemm or MatMul in front,
/// where nothing else reads the values between. Computes in double and rounds once to the weights'
/// type; weights that a shift alone does not change stay where they are, repeated elements stay
/// repeated. MatMul has no bias: a shift stays as one Add behind it. Left alone: weights that would
/// overflow, and quantised ones. True if anything changed.
Result<bool> FoldAffine(ir::Graph& graph);

}  // namespace fettle::passes
