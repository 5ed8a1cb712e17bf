#include "quantise/weight_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fettle::quantise {
namespace {

/// Scales tried below that of the largest weight, down to half of it.
constexpr int kScalesTried = 24;
/// Biases stay below 2^30, so that the sum of products has room beside them.
constexpr double kLargestBias = 1 << 30;

/// To nearest, ties to even, of numbers well below 2^22; a loop over it becomes vector code.
float Nearest(float value) {
  constexpr float kMagic = 12582912;  // 1.5 * 2^23
  return (value + kMagic) - kMagic;
}

float RoundTo(float real, float inverse, float largest) {
  return Nearest(std::clamp(real * inverse, -largest, largest));
}

/// The weights of one output channel, in their order.
void CopyChannel(const Weights& weights, int64_t out, std::vector<float>& channel) {
  const int64_t inner = weights.shape.Count(weights.out_axis + 1, weights.shape.rank());
  const int64_t pitch = inner * weights.outputs();
  channel.clear();
  for (int64_t at = out * inner; at < std::ssize(weights.values); at += pitch)
    channel.insert(channel.end(), weights.values.begin() + at, weights.values.begin() + at + inner);
}

float LargestOf(std::span<const float> values) {
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double SquaredError(std::span<const float> values, float scale, float largest) {
  const float inverse = 1 / scale;
  float error = 0;
  for (float value : values) {
    const float off = RoundTo(value, inverse, largest) * scale - value;
    error += off * off;
  }
  return static_cast<double>(error);
}

/// The scale of a channel: that of its largest weight, or a smaller one with less square error.
double ScaleOf(std::span<const float> channel, const WeightOptions& options) {
  const auto top = static_cast<float>(options.largest);
  const float whole = LargestOf(channel) / top;
  if (options.method != RangeMethod::kMse || whole < std::numeric_limits<float>::min())
    return static_cast<double>(whole);
  float best = whole;
  double least = SquaredError(channel, whole, top);
  for (int candidate = 1; candidate < kScalesTried; ++candidate) {
    const float scale = whole * (1 - 0.5f * static_cast<float>(candidate) / kScalesTried);
    const double error = SquaredError(channel, scale, top);
    if (error >= least) continue;
    least = error;
    best = scale;
  }
  return static_cast<double>(best);
}

/// What the rounded weight says beyond the weight.
double Excess(const Weights& weights, const IntegerWeights& integers, size_t i, int64_t out) {
  return static_cast<double>(integers.scales[out]) * integers.values[i] -
         static_cast<double>(weights.values[i]);
}

}  // namespace

IntegerWeights QuantiseWeights(const Weights& weights, std::span<const float> bias,
                               float input_scale, const WeightOptions& options) {
  IntegerWeights integers;
  integers.values.resize(weights.values.size());
  std::vector<float> channel;
  for (int64_t out = 0; out < weights.outputs(); ++out) {
    CopyChannel(weights, out, channel);
    double scale = ScaleOf(channel, options);
    if (!bias.empty())
      scale = std::max(scale, std::abs(static_cast<double>(bias[out])) /
                                  (static_cast<double>(input_scale) * kLargestBias));
    const bool is_normal = scale > static_cast<double>(std::numeric_limits<float>::min());
    integers.scales.push_back(is_normal ? static_cast<float>(scale) : 1);
  }
  const auto top = static_cast<float>(options.largest);
  weights.ForEach([&](size_t i, int64_t out, int64_t) {
    const float inverse = 1 / integers.scales[out];
    integers.values[i] = static_cast<int8_t>(RoundTo(weights.values[i], inverse, top));
  });
  return integers;
}

std::vector<int32_t> QuantiseBias(std::span<const float> bias, float input_scale,
                                  std::span<const float> scales) {
  std::vector<int32_t> integers;
  for (size_t out = 0; out < bias.size(); ++out) {
    const double unit = static_cast<double>(input_scale * scales[out]);
    const double integer = unit > 0 ? std::nearbyint(static_cast<double>(bias[out]) / unit) : 0;
    integers.push_back(static_cast<int32_t>(std::clamp(integer, -0x1p31 + 1, 0x1p31 - 1)));
  }
  return integers;
}

double RelativeError(const Weights& weights, const IntegerWeights& integers) {
  double signal = 0, noise = 0;
  weights.ForEach([&](size_t i, int64_t out, int64_t) {
    const double real = weights.values[i], off = Excess(weights, integers, i, out);
    signal += real * real;
    noise += off * off;
  });
  return signal > 0 ? noise / signal : 0;
}

std::vector<float> ExpectedError(const Weights& weights, const IntegerWeights& integers,
                                 std::span<const double> input_means) {
  std::vector<double> errors(weights.outputs());
  weights.ForEach([&](size_t i, int64_t out, int64_t in) {
    errors[out] += Excess(weights, integers, i, out) * input_means[in];
  });
  return {errors.begin(), errors.end()};
}

}  // namespace fettle::quantise
