// Groups whose products may be of bf16: convolutions and matrix products with constant weights, and
// their weights as panels.
#pragma once

#include "kernels/cpu/conv/operands.h"
#include "kernels/kernel.h"
#include "kernels/match/conv.h"

namespace fettle::kernels {

/// A matrix product is a convolution of a line of pixels, a row each.
struct Bf16Product {
  ConvOperands operands;
  ConvGeometry g;
  WeightShape weights;
  bool is_conv = false;
  float alpha = 1, beta = 1;  // of weights and bias

  /// The pixels of a problem's operands.
  Result<ConvPixels> PixelsIn(const Problem& problem) const;
};

/// Fails with kUnsupported and the reason: computed weights, depthwise convolutions, a tail that
/// rounds results to integers.
Result<Bf16Product> ReadBf16Product(const ir::Graph& group);

/// The panels of all groups of channels, [group][panel][chunk][kBf16Depth / 2][kBf16Columns][2],
/// rounded to the nearest bf16 and padded with zeros, then the bias, padded to whole panels. Never
/// names shapes of activations.
PackRequest RequestBf16Panels(const Bf16Product& product);

/// Elements of one panel.
int64_t Bf16PanelElements(const WeightShape& weights);

}  // namespace fettle::kernels
