// Cross-layer equalisation: channels between two layers get ranges that fit one scale.
#pragma once

#include <span>
#include <vector>

#include "quantise/layer.h"
#include "quantise/value_statistics.h"

namespace fettle::quantise {

/// Two layers, by their positions in the list of layers, whose channels between can be scaled: the
/// second alone reads the first one's result, with at most a ReLU between.
struct LayerPair {
  size_t first = 0, second = 0;
};
std::vector<LayerPair> FindPairs(const Network& network, const std::vector<Layer>& layers);

/// What channel c between the layers is divided by: sqrt(activations[c] / columns[c]), the largest
/// absolute activation and the largest absolute weight that reads it, kept within a factor 8 of the
/// geometric mean of all channels; 1 where either is 0. Source: Nagel et al., Data-free
/// quantization through weight equalization and bias correction, 2019; the activations stand in for
/// the first layer's rows, which have scales of their own here (as in Xiao et al., SmoothQuant,
/// 2022).
std::vector<double> EqualisingFactors(std::span<const double> activations,
                                      std::span<const double> columns);

/// The largest absolute weight that reads each input channel.
std::vector<double> LargestPerInput(const Weights& weights);

/// Divides the first layer's output channels by `factors` and multiplies the second one's input
/// channels by them: the network's results stay the same.
void Rescale(std::span<const double> factors, Layer& first, Layer& second);

/// Equalises all pairs by what calibration saw; returns how many there were.
size_t Equalise(const Network& network, const Statistics& seen, std::vector<Layer>& layers);

}  // namespace fettle::quantise
