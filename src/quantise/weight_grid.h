// Weights and biases on integer grids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quantise/layer.h"
#include "quantise/range.h"

namespace fettle::quantise {

/// Weights as i8, symmetric, one scale per output channel, in the order of the fp32 ones.
struct IntegerWeights {
  std::vector<float> scales;
  std::vector<int8_t> values;
};

struct WeightOptions {
  /// kMse searches the scale of each channel for the least mean square error; the others take what
  /// holds the largest weight.
  RangeMethod method = RangeMethod::kMse;
  /// The largest integer: 127, or 63 where pairs of products have to fit into 16 bits.
  int32_t largest = 127;
};

/// `input_scale` and `bias` (may be empty) bound the scales from below, so that the bias fits into
/// 32 bits in units of input_scale * scale.
IntegerWeights QuantiseWeights(const Weights& weights, std::span<const float> bias,
                               float input_scale, const WeightOptions& options);

/// The bias in units of input_scale * scales[channel].
std::vector<int32_t> QuantiseBias(std::span<const float> bias, float input_scale,
                                  std::span<const float> scales);

/// The sum of squares of what rounding changes in the weights over that of the weights.
double RelativeError(const Weights& weights, const IntegerWeights& integers);

/// Bias correction (Nagel et al., Data-free quantization through weight equalization and bias
/// correction, 2019): what rounding the weights adds to each output channel on average, of inputs
/// of these means (one per input channel). Subtract it from the bias.
std::vector<float> ExpectedError(const Weights& weights, const IntegerWeights& integers,
                                 std::span<const double> input_means);

}  // namespace fettle::quantise
