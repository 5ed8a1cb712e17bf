#include "quantise/layer.h"

#include <algorithm>
#include <cmath>

#include "importers/onnx/order.h"

namespace fettle::quantise {
namespace {

std::vector<float> Floats(const Constant& constant) {
  std::vector<float> values(constant.elements());
  constant.CopyTo(0, constant.elements(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

const Constant* FloatConstant(const Network& network, std::string_view name) {
  const Constant* constant = name.empty() ? nullptr : network.constant(name);
  const bool fits =
      constant != nullptr && constant->dtype() == DType::kF32 && constant->elements() > 0;
  return fits ? constant : nullptr;
}

std::string_view InputName(const onnx::NodeRecord& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : std::string_view();
}

class Finder {
 public:
  explicit Finder(const Network& network) : network_(network) {}

  std::optional<Layer> At(size_t index) {
    const onnx::NodeRecord& node = network_.node(index);
    if (!node.domain.empty() || node.outputs.size() != 1 || node.inputs.size() < 2) return {};
    Layer layer{.node = index,
                .name = onnx::LabelOf(node, index),
                .op = std::string(node.op_type),
                .inputs = {std::string(node.inputs[0])},
                .output = std::string(node.outputs[0])};
    if (network_.constant(layer.inputs[0]) != nullptr || network_.IsOnBits(index)) return {};
    const bool found = (node.op_type == "Conv" && Conv(node, layer)) ||
                       (node.op_type == "Gemm" && Gemm(node, layer)) ||
                       (node.op_type == "MatMul" && MatMul(node, layer));
    if (!found) return {};
    layer.result = ResultOf(network_, layer.output);
    return layer;
  }

 private:
  bool Conv(const onnx::NodeRecord& node, Layer& layer) {
    layer.kind = Layer::Kind::kConv;
    layer.weights.groups = network_.Int(node, "group", 1);
    return TakeWeights(node, 0, 1, layer) && layer.weights.shape.rank() > 2 &&
           layer.weights.groups > 0 && layer.weights.outputs() % layer.weights.groups == 0 &&
           TakeBias(node, layer);
  }

  bool Gemm(const onnx::NodeRecord& node, Layer& layer) {
    layer.kind = Layer::Kind::kGemm;
    const int out = network_.Int(node, "transB", 0) != 0 ? 0 : 1;
    return network_.Int(node, "transA", 0) == 0 && network_.Float(node, "alpha", 1) == 1 &&
           network_.Float(node, "beta", 1) == 1 && TakeWeights(node, out, 1 - out, layer) &&
           layer.weights.shape.rank() == 2 && TakeBias(node, layer);
  }

  bool MatMul(const onnx::NodeRecord& node, Layer& layer) {
    if (network_.constant(node.inputs[1]) == nullptr) {
      layer.kind = Layer::Kind::kProduct;
      if (node.inputs[1] != node.inputs[0]) layer.inputs.emplace_back(node.inputs[1]);
      return true;
    }
    layer.kind = Layer::Kind::kMatMul;
    return TakeWeights(node, 1, 0, layer) && layer.weights.shape.rank() == 2;
  }

  bool TakeWeights(const onnx::NodeRecord& node, int out_axis, int in_axis, Layer& layer) {
    const Constant* constant = FloatConstant(network_, node.inputs[1]);
    if (constant == nullptr || constant->shape().rank() < 2) return false;
    layer.weight_name = node.inputs[1];
    layer.weights.shape = constant->shape();
    layer.weights.values = Floats(*constant);
    layer.weights.out_axis = out_axis;
    layer.weights.in_axis = in_axis;
    return std::ranges::all_of(layer.weights.values, [](float w) { return std::isfinite(w); });
  }

  /// False for a bias that is not one number per output channel.
  bool TakeBias(const onnx::NodeRecord& node, Layer& layer) {
    if (InputName(node, 2).empty()) return true;
    const Constant* constant = FloatConstant(network_, node.inputs[2]);
    if (constant == nullptr || constant->shape().rank() < 1) return false;
    const Shape& shape = constant->shape();
    if (constant->elements() != layer.weights.outputs()) return false;
    if (shape[shape.rank() - 1] != constant->elements()) return false;
    layer.bias_name = node.inputs[2];
    layer.bias = Floats(*constant);
    return std::ranges::all_of(layer.bias, [](float b) { return std::isfinite(b); });
  }

  const Network& network_;
};

}  // namespace

std::string ResultOf(const Network& network, const std::string& output) {
  const size_t* reader = network.OnlyReader(output);
  if (reader == nullptr) return output;
  const onnx::NodeRecord& node = network.node(*reader);
  const bool is_bound =
      node.op_type == "Relu" || (node.op_type == "Clip" && node.inputs[0] == output);
  return node.domain.empty() && is_bound && node.outputs.size() == 1 ? std::string(node.outputs[0])
                                                                     : output;
}

std::vector<Layer> FindLayers(const Network& network) {
  std::vector<Layer> layers;
  Finder finder(network);
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    if (auto layer = finder.At(i)) layers.push_back(*std::move(layer));
  }
  return layers;
}

}  // namespace fettle::quantise
