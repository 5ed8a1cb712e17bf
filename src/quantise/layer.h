// The layers that quantisation gives integer weights, and the weights themselves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quantise/model_view.h"
#include "tensor/shape.h"

namespace fettle::quantise {

/// Weights in fp32, and which of their elements belong to which channel of the layer.
struct Weights {
  Shape shape;
  std::vector<float> values;
  int out_axis = 0;
  /// Input channels lie along this axis; a convolution of several groups counts them in each.
  int in_axis = 1;
  int64_t groups = 1;

  int64_t outputs() const { return shape[out_axis]; }
  int64_t inputs() const { return shape[in_axis] * groups; }
  /// Calls `use(element, out, in)` for the index of each element and its two channels.
  template <typename F>
  void ForEach(F&& use) const {
    const int64_t out_stride = shape.Count(out_axis + 1, shape.rank());
    const int64_t in_stride = shape.Count(in_axis + 1, shape.rank());
    const int64_t outs_of_group = std::max<int64_t>(1, outputs() / groups);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const int64_t out = at / out_stride % shape[out_axis];
      const int64_t in = at / in_stride % shape[in_axis] + out / outs_of_group * shape[in_axis];
      use(i, out, in);
    }
  }
};

/// A Conv, Gemm or MatMul with constant weights, or a MatMul of two activations.
struct Layer {
  enum class Kind { kConv, kGemm, kMatMul, kProduct };
  Kind kind = Kind::kConv;
  size_t node = 0;   // index in the file
  std::string name;  // of the node, else operator and index
  std::string op;
  /// Names of values: the operands (two for kProduct), the constants ("" where absent), the node's
  /// result, and the result of the ReLU or Clip that alone reads it.
  std::vector<std::string> inputs;
  std::string weight_name, bias_name, output, result;
  Weights weights;
  /// Of kConv and kGemm; empty where there is none.
  std::vector<float> bias;
  /// Weights and bias are no longer those of the file.
  bool rescaled = false;

  bool has_weights() const { return kind != Kind::kProduct; }
  bool takes_bias() const { return kind == Kind::kConv || kind == Kind::kGemm; }
};

/// The layers of the main graph in the order of the file. Not layers: nodes in sub-graphs and
/// functions, nodes whose weights are not fp32 constants, products that run on bits, and forms
/// without integer kernels (a Gemm with alpha, beta or transA).
std::vector<Layer> FindLayers(const Network& network);

/// The value behind the ReLU or Clip that alone reads `output`, else `output`.
std::string ResultOf(const Network& network, const std::string& output);

}  // namespace fettle::quantise
