#include "quantise/writer.h"

#include <algorithm>

#include "importers/onnx/model_edit.h"
#include "importers/onnx/tensor_file.h"

namespace fettle::quantise {
namespace {

template <typename T>
Result<Tensor> Vector(const std::vector<T>& values) {
  return Tensor::FromVector<T>(Shape{static_cast<int64_t>(values.size())}, values);
}

Range Union(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

}  // namespace

/// One model that is being written.
class Writer::Edit {
 public:
  explicit Edit(const Writer& writer)
      : writer_(writer), network_(writer.network_), fresh_(writer.network_) {}

  Status RaiseOpset() {
    const onnx::ModelRecord& model = network_.model();
    if (model.ir_version < 4) {
      edit_.ir_version = onnx::kRaisedIr;
      edit_.drops_initialised_inputs = true;
    }
    const auto rank = [&](std::string_view name) {
      const auto found = writer_.seen_.find(name);
      return found == writer_.seen_.end() ? -1 : found->second.rank;
    };
    return onnx::RaiseOpset(
        model, rank, [&](std::string name) { return fresh_(std::move(name)); }, edit_);
  }

  /// A QuantizeLinear and a DequantizeLinear behind `value`, for all nodes that read it.
  Status AddActivation(const std::string& value, const Grid& grid, DType dtype) {
    ASSIGN_OR_RETURN(const Tensor scale, Tensor::FromVector<float>(Shape(), {grid.scale}));
    ASSIGN_OR_RETURN(const Tensor zero, Tensor::Create(dtype, Shape()));
    zero.view().SetInt(0, grid.zero_point);
    const std::string scale_name = Add(value + "_scale", scale);
    const std::string zero_name = Add(value + "_zero_point", zero);
    const std::string integer = fresh_(value + "_quantized");
    const std::string real = fresh_(value + "_dequantized");
    const int64_t producer = network_.uses(value).producer;
    auto& nodes = NodesBefore(producer + 1);
    nodes.push_back(onnx::WriteNode({"QuantizeLinear",
                                     fresh_(value + "_QuantizeLinear"),
                                     {value, scale_name, zero_name},
                                     {integer},
                                     {}}));
    nodes.push_back(onnx::WriteNode({"DequantizeLinear",
                                     fresh_(value + "_DequantizeLinear"),
                                     {integer, scale_name, zero_name},
                                     {real},
                                     {}}));
    for (size_t reader : network_.uses(value).readers) Replace(reader, value, real);
    return OkStatus();
  }

  Status AddWeights(const Layer& layer, const Made& made) {
    ASSIGN_OR_RETURN(const Tensor values,
                     Tensor::FromVector<int8_t>(layer.weights.shape, made.weights.values));
    ASSIGN_OR_RETURN(const Tensor scales, Vector(made.weights.scales));
    ASSIGN_OR_RETURN(const Tensor zeros, Vector(std::vector<int8_t>(made.weights.scales.size())));
    SetOperand(
        layer.node, 1,
        AddDequantised(layer, layer.weight_name, values, scales, zeros, layer.weights.out_axis));
    if (made.bias.empty()) return OkStatus();
    std::vector<float> units = made.weights.scales;
    for (float& unit : units) unit *= made.input_scale;
    ASSIGN_OR_RETURN(const Tensor bias,
                     Vector(QuantiseBias(made.bias, made.input_scale, made.weights.scales)));
    ASSIGN_OR_RETURN(const Tensor bias_scales, Vector(units));
    ASSIGN_OR_RETURN(const Tensor bias_zeros, Vector(std::vector<int32_t>(units.size())));
    const std::string name = layer.bias_name.empty() ? layer.name + "_bias" : layer.bias_name;
    SetOperand(layer.node, 2, AddDequantised(layer, name, bias, bias_scales, bias_zeros, 0));
    return OkStatus();
  }

  /// The layer's weights and bias in fp32, as they became.
  Status AddFloats(const Layer& layer) {
    ASSIGN_OR_RETURN(const Tensor values,
                     Tensor::FromVector<float>(layer.weights.shape, layer.weights.values));
    SetOperand(layer.node, 1, Add(layer.weight_name + "_equalised", values));
    if (layer.bias.empty()) return OkStatus();
    ASSIGN_OR_RETURN(const Tensor bias, Vector(layer.bias));
    SetOperand(layer.node, 2, Add(layer.bias_name + "_equalised", bias));
    return OkStatus();
  }

  Result<std::string> Finish() {
    for (const std::string& name : replaced_) DropUnread(name);
    return onnx::ApplyEdit(network_.bytes(), edit_);
  }

 private:
  std::string Add(const std::string& wanted, const Tensor& tensor) {
    std::string name = fresh_(wanted);
    edit_.initializers.push_back(onnx::WriteTensorProto(tensor, name));
    return name;
  }

  std::vector<std::string>& NodesBefore(size_t index) {
    return index < network_.nodes().size() ? edit_.nodes[index].before : edit_.last_nodes;
  }

  /// Returns the name of the constant behind its DequantizeLinear.
  std::string AddDequantised(const Layer& layer, const std::string& name, const Tensor& values,
                             const Tensor& scales, const Tensor& zeros, int axis) {
    const std::string integer = Add(name + "_quantized", values);
    const std::string scale = Add(name + "_scale", scales);
    const std::string zero = Add(name + "_zero_point", zeros);
    std::string real = fresh_(name + "_dequantized");
    NodesBefore(layer.node)
        .push_back(onnx::WriteNode({"DequantizeLinear",
                                    fresh_(name + "_DequantizeLinear"),
                                    {integer, scale, zero},
                                    {real},
                                    {{"axis", axis}}}));
    return real;
  }

  void SetOperand(size_t node, size_t position, const std::string& name) {
    const auto& inputs = network_.node(node).inputs;
    if (position < inputs.size() && !inputs[position].empty())
      replaced_.emplace_back(inputs[position]);
    edit_.nodes[node].inputs[position] = name;
  }

  void Replace(size_t node, std::string_view from, const std::string& to) {
    const auto& inputs = network_.node(node).inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == from) edit_.nodes[node].inputs[i] = to;
  }

  bool IsRead(std::string_view name) const {
    const ValueUses& uses = network_.uses(name);
    const auto reads = [&](size_t reader) {
      const auto edited = edit_.nodes.find(reader);
      if (edited != edit_.nodes.end() && edited->second.dropped) return false;
      const auto& inputs = network_.node(reader).inputs;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool kept = edited == edit_.nodes.end() || !edited->second.inputs.contains(i);
        if (inputs[i] == name && kept) return true;
      }
      return false;
    };
    return uses.read_elsewhere || std::ranges::any_of(uses.readers, reads);
  }

  /// Leaves out what made `name`, an initialiser or a node and what that alone reads, where nobody
  /// reads it any more.
  void DropUnread(std::string_view name) {
    if (name.empty() || IsRead(name)) return;
    const int64_t producer = network_.uses(name).producer;
    if (producer < 0) {
      edit_.dropped_initializers.emplace(name);
      return;
    }
    const onnx::NodeRecord& node = network_.node(producer);
    if (node.outputs.size() != 1) return;
    edit_.nodes[producer].dropped = true;
    for (std::string_view input : node.inputs) DropUnread(input);
  }

  const Writer& writer_;
  const Network& network_;
  FreshNames fresh_;
  onnx::ModelEdit edit_;
  std::vector<std::string> replaced_;
};

Writer::Writer(const Network& network, const std::vector<Layer>& layers, const Statistics& seen,
               const GridOptions& options)
    : network_(network), layers_(layers), seen_(seen), options_(options) {
  for (const auto& [name, value] : seen) {
    usable_.insert(name);
    ranges_.emplace(name, ChooseRange(value.histogram, options.ranges, options.percentile,
                                      options.activations));
  }
}

std::map<std::string, Grid, std::less<>> Writer::GridsOf(const Placement& placement) const {
  std::map<std::string, Range, std::less<>> united;
  for (const auto& [value, root] : placement) {
    const auto [it, added] = united.emplace(root, ranges_.find(value)->second);
    if (!added) it->second = Union(it->second, ranges_.find(value)->second);
  }
  std::map<std::string, Grid, std::less<>> grids;
  for (const auto& [value, root] : placement)
    grids.emplace(value, GridOver(united.at(root), options_.activations));
  return grids;
}

const Writer::Made& Writer::Quantised(size_t index, float input_scale) {
  Made& made = made_[index];
  if (made.input_scale == input_scale) return made;
  const Layer& layer = layers_[index];
  made.input_scale = input_scale;
  made.bias = layer.bias;
  made.weights = QuantiseWeights(layer.weights, layer.bias, input_scale, options_.weights);
  made.error = RelativeError(layer.weights, made.weights);
  const auto input = seen_.find(layer.inputs[0]);
  if (!options_.corrects_bias || !layer.takes_bias() || input == seen_.end() ||
      std::ssize(input->second.channels) != layer.weights.inputs())
    return made;
  std::vector<double> means;
  for (const ChannelStatistics& channel : input->second.channels) means.push_back(channel.mean());
  made.bias.resize(layer.weights.outputs());
  const std::vector<float> errors = ExpectedError(layer.weights, made.weights, means);
  for (size_t out = 0; out < errors.size(); ++out) made.bias[out] -= errors[out];
  return made;
}

Result<std::string> Writer::Write(const PlacementOptions& options) {
  const Placement placement = Place(network_, layers_, usable_, options);
  Edit edit(*this);
  RETURN_IF_ERROR(edit.RaiseOpset());
  const auto grids = GridsOf(placement);
  for (const auto& [value, grid] : grids)
    RETURN_IF_ERROR(edit.AddActivation(value, grid, options_.activations));
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!layer.has_weights()) continue;
    const auto input = grids.find(layer.inputs[0]);
    if (options.quantised[i] && input != grids.end()) {
      RETURN_IF_ERROR(edit.AddWeights(layer, Quantised(i, input->second.scale)));
    } else if (layer.rescaled) {
      RETURN_IF_ERROR(edit.AddFloats(layer));
    }
  }
  return edit.Finish();
}

Result<std::string> Writer::WriteFloat() {
  Edit edit(*this);
  for (const Layer& layer : layers_)
    if (layer.rescaled) RETURN_IF_ERROR(edit.AddFloats(layer));
  return edit.Finish();
}

std::optional<double> Writer::weight_error(size_t layer) const {
  const auto found = made_.find(layer);
  if (found == made_.end()) return {};
  return found->second.error;
}

}  // namespace fettle::quantise
