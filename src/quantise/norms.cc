#include "quantise/norms.h"

#include <array>
#include <cmath>
#include <optional>

#include "importers/onnx/model_edit.h"
#include "importers/onnx/raise_opset.h"
#include "importers/onnx/tensor_file.h"
#include "quantise/layer.h"

namespace fettle::quantise {
namespace {

/// y[c] = factor[c] * x[c] + offset[c].
struct Norm {
  size_t node = 0;
  std::vector<double> factors, offsets;
};

/// Operands behind the normalised one: scale, offset, mean, variance.
constexpr size_t kNumbers = 4;

std::optional<Norm> ReadNorm(const Network& network, size_t index, int64_t channels) {
  const onnx::NodeRecord& node = network.node(index);
  if (node.op_type != "BatchNormalization" || !node.domain.empty()) return {};
  if (node.inputs.size() != 1 + kNumbers || node.outputs.size() != 1) return {};
  if (network.Int(node, "training_mode", 0) != 0 || network.Int(node, "spatial", 1) != 1) return {};
  std::array<std::vector<float>, kNumbers> numbers;
  for (size_t i = 0; i < kNumbers; ++i) {
    const Constant* constant = network.constant(node.inputs[1 + i]);
    if (constant == nullptr || constant->dtype() != DType::kF32) return {};
    if (constant->elements() != channels) return {};
    numbers[i].resize(channels);
    constant->CopyTo(0, channels, reinterpret_cast<std::byte*>(numbers[i].data()));
  }
  const double epsilon = network.Float(node, "epsilon", 1e-5);
  Norm norm{.node = index};
  for (size_t c = 0; c < numbers[0].size(); ++c) {
    const double factor = numbers[0][c] / std::sqrt(numbers[3][c] + epsilon);
    norm.factors.push_back(factor);
    norm.offsets.push_back(numbers[1][c] - factor * numbers[2][c]);
    if (!std::isfinite(factor) || !std::isfinite(norm.offsets.back())) return {};
  }
  return norm;
}

void Apply(const Norm& norm, Layer& layer) {
  layer.weights.ForEach([&](size_t i, int64_t out, int64_t) {
    float& weight = layer.weights.values[i];
    weight = static_cast<float>(weight * norm.factors[out]);
  });
  layer.bias.resize(norm.factors.size());
  for (size_t c = 0; c < layer.bias.size(); ++c)
    layer.bias[c] = static_cast<float>(layer.bias[c] * norm.factors[c] + norm.offsets[c]);
}

class Folder {
 public:
  explicit Folder(const Network& network) : network_(network), fresh_(network) {}

  Status Fold(Layer layer, const Norm& norm) {
    Apply(norm, layer);
    ASSIGN_OR_RETURN(const Tensor weights,
                     Tensor::FromVector<float>(layer.weights.shape, layer.weights.values));
    ASSIGN_OR_RETURN(const Tensor bias,
                     Tensor::FromVector<float>(Shape{std::ssize(layer.bias)}, layer.bias));
    onnx::NodeEdit& edit = edit_.nodes[layer.node];
    edit.inputs[1] = Add(layer.weight_name, weights);
    edit.inputs[2] = Add(layer.bias_name.empty() ? layer.name + "_bias" : layer.bias_name, bias);
    edit.outputs[0] = std::string(network_.node(norm.node).outputs[0]);
    edit_.nodes[norm.node].dropped = true;
    for (const size_t node : {layer.node, norm.node})
      for (size_t i = 1; i < network_.node(node).inputs.size(); ++i)
        DropWhereAlone(network_.node(node).inputs[i]);
    return OkStatus();
  }

  Result<std::string> Finish() {
    if (edit_.nodes.empty()) return std::string();
    if (network_.model().ir_version < 4) {
      edit_.ir_version = onnx::kRaisedIr;
      edit_.drops_initialised_inputs = true;
    }
    return onnx::ApplyEdit(network_.bytes(), edit_);
  }

 private:
  std::string Add(const std::string& replaced, const Tensor& tensor) {
    std::string name = fresh_(replaced + "_normalised");
    edit_.initializers.push_back(onnx::WriteTensorProto(tensor, name));
    return name;
  }
  /// Initialisers that nobody else reads; what nodes make stays.
  void DropWhereAlone(std::string_view name) {
    if (name.empty() || network_.OnlyReader(name) == nullptr) return;
    if (network_.uses(name).producer < 0) edit_.dropped_initializers.emplace(name);
  }

  const Network& network_;
  FreshNames fresh_;
  onnx::ModelEdit edit_;
};

}  // namespace

Result<std::string> FoldNorms(const Network& network) {
  Folder folder(network);
  for (Layer& layer : FindLayers(network)) {
    const size_t* reader = layer.takes_bias() ? network.OnlyReader(layer.output) : nullptr;
    if (reader == nullptr) continue;
    const std::optional<Norm> norm = ReadNorm(network, *reader, layer.weights.outputs());
    const bool reads = norm && network.node(norm->node).inputs[0] == layer.output;
    if (reads) RETURN_IF_ERROR(folder.Fold(std::move(layer), *norm));
  }
  return folder.Finish();
}

}  // namespace fettle::quantise
