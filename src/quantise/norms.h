// Batch normalisation that belongs to a layer.
#pragma once

#include <string>

#include "quantise/model_view.h"

namespace fettle::quantise {

/// The file of `network` without each BatchNormalization by constants that alone reads the result
/// of a Conv or Gemm: the layer's weights and bias compute it, and the ReLU behind it is the
/// layer's. Empty where there is no such node. Fails as onnx::ApplyEdit does.
Result<std::string> FoldNorms(const Network& network);

}  // namespace fettle::quantise
