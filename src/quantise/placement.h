// Which values of a network are stored as integers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quantise/layer.h"
#include "quantise/model_view.h"

namespace fettle::quantise {

/// What is asked of the layers.
struct PlacementOptions {
  /// By the layer's position; where it is false the layer stays in fp32.
  std::vector<bool> quantised;
  /// Also the results of layers and of nodes that only move or add values between layers. Without
  /// it only the operands of layers are integers.
  bool outputs = true;
};

/// Values that get a QuantizeLinear and a DequantizeLinear behind them, each with the name of the
/// value whose grid it shares (its own where it shares none).
using Placement = std::map<std::string, std::string, std::less<>>;

/// The values that a placement may name: what layers, and nodes that only move or add values, read
/// and write. Calibration looks at these.
std::set<std::string, std::less<>> Candidates(const Network& network,
                                              const std::vector<Layer>& layers);

/// - What a quantised layer reads is an integer, and what a convolution writes, behind its ReLU or
///   Clip, unless only layers in fp32 read it; what a product writes where a quantised node reads
///   it.
/// - Nodes that add, multiply, join, pool or move values compute on integers where all that they
///   read are, and a quantised layer reads the result, if only through other such nodes. What moves
///   values (Reshape, Transpose, MaxPool, Concat ...) keeps one grid on both sides.
/// - Graph outputs are never rounded for their own sake.
/// `usable`: the candidates that calibration saw finite values of.
Placement Place(const Network& network, const std::vector<Layer>& layers,
                const std::set<std::string, std::less<>>& usable, const PlacementOptions& options);

}  // namespace fettle::quantise
