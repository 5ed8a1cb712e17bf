#include "quantise/placement.h"

#include <algorithm>
#include <map>
#include <optional>

namespace fettle::quantise {
namespace {

/// Operators that compute on integers as well as on what these stand for.
struct CarrierRow {
  std::string_view op;
  bool moves;  // no value changes: one grid serves both sides
};
constexpr CarrierRow kCarriers[] = {
    {"Add", false},          {"AveragePool", false},
    {"Concat", true},        {"DepthToSpace", true},
    {"Expand", true},        {"Flatten", true},
    {"Gather", true},        {"GlobalAveragePool", false},
    {"GlobalMaxPool", true}, {"Identity", true},
    {"MaxPool", true},       {"Mul", false},
    {"Reshape", true},       {"Slice", true},
    {"SpaceToDepth", true},  {"Split", true},
    {"Squeeze", true},       {"Tile", true},
    {"Transpose", true},     {"Unsqueeze", true},
};
/// Of these the operands are alike; of the others the first alone is a value of the network.
constexpr std::string_view kJoining[] = {"Add", "Concat", "Mul"};

struct Carrier {
  bool moves = false;
  std::vector<std::string> inputs, outputs;
};

std::optional<Carrier> CarrierAt(const Network& network, size_t index) {
  const onnx::NodeRecord& node = network.node(index);
  const auto row = std::ranges::find(kCarriers, node.op_type, &CarrierRow::op);
  if (row == std::end(kCarriers) || !node.domain.empty() || node.inputs.empty()) return {};
  // Indices of the largest elements are no values.
  if (node.op_type == "MaxPool" && node.outputs.size() > 1) return {};
  Carrier carrier{.moves = row->moves};
  const bool joins = std::ranges::find(kJoining, node.op_type) != std::end(kJoining);
  for (size_t i = 0; i < (joins ? node.inputs.size() : 1); ++i) {
    if (node.inputs[i].empty() || network.constant(node.inputs[i]) != nullptr) return {};
    carrier.inputs.emplace_back(node.inputs[i]);
  }
  for (std::string_view output : node.outputs) {
    if (output.empty()) continue;
    carrier.outputs.push_back(carrier.moves ? std::string(output)
                                            : ResultOf(network, std::string(output)));
  }
  return carrier;
}

class Placer {
 public:
  Placer(const Network& network, const std::vector<Layer>& layers,
         const std::set<std::string, std::less<>>& usable, const PlacementOptions& options)
      : network_(network), layers_(layers), usable_(usable), options_(options) {}

  Placement Run() {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (!IsQuantised(i)) continue;
      for (const std::string& input : layers_[i].inputs) Add(input);
    }
    if (!options_.outputs) return std::move(placement_);
    FindCarriers();
    AskBackwards();
    AddOutputs();
    AddCarried();
    for (auto& [value, grid] : placement_) grid = Root(value);
    return std::move(placement_);
  }

 private:
  bool IsQuantised(size_t layer) const {
    return options_.quantised[layer] &&
           std::ranges::all_of(layers_[layer].inputs,
                               [&](const std::string& input) { return usable_.contains(input); });
  }
  bool Has(const std::string& value) const { return placement_.contains(value); }
  void Add(const std::string& value) {
    if (usable_.contains(value)) placement_.emplace(value, value);
  }

  void FindCarriers() {
    for (size_t i = 0; i < network_.nodes().size(); ++i)
      if (auto carrier = CarrierAt(network_, i)) carriers_.push_back(*std::move(carrier));
  }

  /// What quantised layers read, if only through carriers.
  void AskBackwards() {
    for (const auto& [value, grid] : placement_) wanted_.insert(value);
    for (auto it = carriers_.rbegin(); it != carriers_.rend(); ++it) {
      if (IsWanted(*it)) wanted_.insert(it->inputs.begin(), it->inputs.end());
    }
  }
  bool IsWanted(const Carrier& carrier) const {
    return std::ranges::any_of(carrier.outputs,
                               [&](const std::string& output) { return wanted_.contains(output); });
  }

  bool OnlyPlainLayersRead(const std::string& value) const {
    const ValueUses& uses = network_.uses(value);
    return !uses.readers.empty() && std::ranges::all_of(uses.readers, [&](size_t reader) {
      const auto layer = std::ranges::find(layers_, reader, &Layer::node);
      return layer != layers_.end() && !IsQuantised(layer - layers_.begin());
    });
  }

  void AddOutputs() {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      if (!IsQuantised(i)) continue;
      const bool always = layer.kind == Layer::Kind::kConv && !OnlyPlainLayersRead(layer.result) &&
                          !network_.uses(layer.result).read_elsewhere;
      if (always || wanted_.contains(layer.result)) Add(layer.result);
    }
  }

  void AddCarried() {
    for (const Carrier& carrier : carriers_) {
      const bool has_all =
          std::ranges::all_of(carrier.inputs, [&](const std::string& input) { return Has(input); });
      if (!has_all || !IsWanted(carrier)) continue;
      for (const std::string& output : carrier.outputs) Add(output);
      if (carrier.moves) Unite(carrier);
    }
  }

  void Unite(const Carrier& carrier) {
    const std::string root = Root(carrier.inputs[0]);
    for (const auto* values : {&carrier.inputs, &carrier.outputs})
      for (const std::string& value : *values)
        if (Has(value)) placement_[Root(value)] = root;
  }
  std::string Root(std::string value) const {
    while (placement_.at(value) != value) value = placement_.at(value);
    return value;
  }

  const Network& network_;
  const std::vector<Layer>& layers_;
  const std::set<std::string, std::less<>>& usable_;
  const PlacementOptions& options_;
  std::vector<Carrier> carriers_;
  std::set<std::string> wanted_;
  Placement placement_;
};

}  // namespace

std::set<std::string, std::less<>> Candidates(const Network& network,
                                              const std::vector<Layer>& layers) {
  std::set<std::string, std::less<>> values;
  for (const Layer& layer : layers) {
    values.insert(layer.inputs.begin(), layer.inputs.end());
    values.insert(layer.result);
  }
  for (size_t i = 0; i < network.nodes().size(); ++i) {
    const auto carrier = CarrierAt(network, i);
    if (!carrier) continue;
    values.insert(carrier->inputs.begin(), carrier->inputs.end());
    values.insert(carrier->outputs.begin(), carrier->outputs.end());
  }
  return values;
}

Placement Place(const Network& network, const std::vector<Layer>& layers,
                const std::set<std::string, std::less<>>& usable, const PlacementOptions& options) {
  return Placer(network, layers, usable, options).Run();
}

}  // namespace fettle::quantise
