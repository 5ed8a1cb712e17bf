#include "quantise/equalise.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fettle::quantise {
namespace {

constexpr double kFarthest = 8;

/// Whether what is between the node's output and its result keeps positive factors.
bool KeepsFactors(const Network& network, const Layer& layer) {
  if (layer.result == layer.output) return true;
  const size_t* reader = network.OnlyReader(layer.output);
  return reader != nullptr && network.node(*reader).op_type == "Relu";
}

}  // namespace

std::vector<LayerPair> FindPairs(const Network& network, const std::vector<Layer>& layers) {
  std::map<size_t, size_t> by_node;
  for (size_t i = 0; i < layers.size(); ++i) by_node[layers[i].node] = i;
  std::vector<LayerPair> pairs;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& first = layers[i];
    if (!first.takes_bias() || !KeepsFactors(network, first)) continue;
    const size_t* reader = network.OnlyReader(first.result);
    const auto found = reader == nullptr ? by_node.end() : by_node.find(*reader);
    if (found == by_node.end()) continue;
    const Layer& second = layers[found->second];
    const bool fits = second.kind == first.kind && second.inputs[0] == first.result &&
                      second.weights.inputs() == first.weights.outputs();
    if (fits) pairs.push_back({i, found->second});
  }
  return pairs;
}

std::vector<double> EqualisingFactors(std::span<const double> activations,
                                      std::span<const double> columns) {
  std::vector<double> factors(activations.size());
  double logarithms = 0;
  int64_t live = 0;
  for (size_t c = 0; c < factors.size(); ++c) {
    if (activations[c] <= 0 || columns[c] <= 0) continue;
    factors[c] = std::sqrt(activations[c] / columns[c]);
    logarithms += std::log(factors[c]);
    ++live;
  }
  const double mean = live > 0 ? std::exp(logarithms / static_cast<double>(live)) : 1;
  for (double& factor : factors)
    factor = factor > 0 ? std::clamp(factor / mean, 1 / kFarthest, kFarthest) : 1;
  return factors;
}

std::vector<double> LargestPerInput(const Weights& weights) {
  std::vector<double> largest(weights.inputs());
  weights.ForEach([&](size_t i, int64_t, int64_t in) {
    double& most = largest[in];
    most = std::max(most, std::abs(static_cast<double>(weights.values[i])));
  });
  return largest;
}

void Rescale(std::span<const double> factors, Layer& first, Layer& second) {
  first.rescaled = second.rescaled = true;
  const auto scale = [](float& value, double factor) {
    value = static_cast<float>(static_cast<double>(value) * factor);
  };
  first.weights.ForEach(
      [&](size_t i, int64_t out, int64_t) { scale(first.weights.values[i], 1 / factors[out]); });
  for (size_t out = 0; out < first.bias.size(); ++out) scale(first.bias[out], 1 / factors[out]);
  second.weights.ForEach(
      [&](size_t i, int64_t, int64_t in) { scale(second.weights.values[i], factors[in]); });
}

size_t Equalise(const Network& network, const Statistics& seen, std::vector<Layer>& layers) {
  size_t done = 0;
  for (const LayerPair& pair : FindPairs(network, layers)) {
    Layer &first = layers[pair.first], &second = layers[pair.second];
    const auto found = seen.find(first.result);
    if (found == seen.end() || std::ssize(found->second.channels) != first.weights.outputs())
      continue;
    std::vector<double> activations;
    for (const ChannelStatistics& channel : found->second.channels)
      activations.push_back(channel.magnitude());
    Rescale(EqualisingFactors(activations, LargestPerInput(second.weights)), first, second);
    ++done;
  }
  return done;
}

}  // namespace fettle::quantise
