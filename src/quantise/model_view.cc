#include "quantise/model_view.h"

#include <algorithm>

#include "importers/onnx/attribute.h"
#include "importers/onnx/order.h"
#include "passes/binary/binarise.h"

namespace fettle::quantise {
namespace {

constexpr std::string_view kQuantised[] = {"QuantizeLinear", "DequantizeLinear", "ConvInteger",
                                           "MatMulInteger", "DynamicQuantizeLinear"};

/// Nodes in a row that may make a constant of others, and operands that each may have.
constexpr int kMostFolded = 4;
constexpr size_t kMostOperands = 3;

bool IsQuantised(const onnx::NodeRecord& node) {
  const std::string_view op = node.op_type;
  return op.starts_with("QLinear") || op.starts_with("DynamicQuantize") || op == "MatMulNBits" ||
         std::find(std::begin(kQuantised), std::end(kQuantised), op) != std::end(kQuantised);
}

template <typename T>
T Read(const onnx::NodeRecord& node, std::string_view name, T fallback) {
  for (const onnx::AttributeRecord& attribute : node.attributes) {
    if (attribute.name != name) continue;
    const auto value = onnx::DecodeAttribute(attribute, nullptr, nullptr);
    if (value.ok() && std::holds_alternative<T>(*value)) return std::get<T>(*value);
  }
  return fallback;
}

/// Every name that nodes of sub-graphs read; those of their own values among them do no harm.
void AddSubGraphNames(const onnx::NodeRecord& node, std::set<std::string_view>& names) {
  for (const onnx::AttributeRecord& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    for (const onnx::NamedRecord& output : attribute.graph->outputs) names.insert(output.name);
    for (const onnx::NodeRecord& inner : attribute.graph->nodes) {
      names.insert(inner.inputs.begin(), inner.inputs.end());
      names.insert(inner.outputs.begin(), inner.outputs.end());
      AddSubGraphNames(inner, names);
    }
  }
}

}  // namespace

Result<Network> Network::Read(std::string_view bytes, std::shared_ptr<const runtime::Model> model) {
  Network network;
  network.bytes_ = bytes;
  ASSIGN_OR_RETURN(network.model_, onnx::ReadModel(bytes));
  RETURN_IF_ERROR(network.CheckPlain());
  network.loaded_ = std::move(model);
  for (const ir::Value& value : network.loaded_->imported_graph().values())
    if (!value.name.empty()) network.values_.emplace(value.name, &value);
  for (const ir::Value& value : network.loaded_->graph().values())
    if (value.is_constant()) network.folded_.emplace(value.name, value.constant.get());
  network.IndexUses();
  ASSIGN_OR_RETURN(network.on_bits_, passes::ProductsOfBits(network.loaded_->imported_graph()));
  return network;
}

Status Network::CheckPlain() const {
  for (size_t i = 0; i < nodes().size(); ++i) {
    if (!IsQuantised(node(i))) continue;
    return InvalidArgument("{}: the model is already quantised",
                           onnx::DescribeRecord(node(i), i, 0));
  }
  return OkStatus();
}

void Network::IndexUses() {
  std::set<std::string_view> elsewhere;
  for (size_t i = 0; i < nodes().size(); ++i) {
    for (std::string_view name : node(i).outputs)
      if (!name.empty()) uses_[std::string(name)].producer = static_cast<int64_t>(i);
    for (std::string_view name : node(i).inputs) {
      if (name.empty()) continue;
      std::vector<size_t>& readers = uses_[std::string(name)].readers;
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
    AddSubGraphNames(node(i), elsewhere);
  }
  for (const onnx::NamedRecord& output : model_.graph.outputs) elsewhere.insert(output.name);
  for (std::string_view name : elsewhere) uses_[std::string(name)].read_elsewhere = true;
  for (const onnx::NamedRecord& input : model_.graph.inputs)
    if (constant(input.name) == nullptr) inputs_.insert(input.name);
}

int64_t Network::Int(const onnx::NodeRecord& node, std::string_view name, int64_t fallback) const {
  return quantise::Read<int64_t>(node, name, fallback);
}

double Network::Float(const onnx::NodeRecord& node, std::string_view name, double fallback) const {
  return quantise::Read<double>(node, name, fallback);
}

std::vector<int64_t> Network::Ints(const onnx::NodeRecord& node, std::string_view name,
                                   std::vector<int64_t> fallback) const {
  return quantise::Read<std::vector<int64_t>>(node, name, std::move(fallback));
}

const ValueUses& Network::uses(std::string_view value) const {
  static const ValueUses kNone;
  const auto found = uses_.find(value);
  return found == uses_.end() ? kNone : found->second;
}

bool Network::IsFixed(std::string_view value, int depth) const {
  const auto found = values_.find(value);
  if (found != values_.end() && found->second->is_constant()) return true;
  const int64_t producer = uses(value).producer;
  if (producer < 0 || depth == 0) return false;
  const onnx::NodeRecord& from = node(producer);
  return from.domain.empty() && !from.inputs.empty() && from.inputs.size() <= kMostOperands &&
         std::ranges::all_of(from.inputs, [&](std::string_view input) {
           return input.empty() || IsFixed(input, depth - 1);
         });
}

const Constant* Network::constant(std::string_view value) const {
  const auto found = values_.find(value);
  if (found != values_.end() && found->second->is_constant()) return found->second->constant.get();
  if (!IsFixed(value, kMostFolded)) return nullptr;
  // An Identity leaves no value of its own behind.
  const onnx::NodeRecord& from = node(uses(value).producer);
  if (from.op_type == "Identity") return constant(from.inputs[0]);
  const auto folded = folded_.find(value);
  return folded == folded_.end() ? nullptr : folded->second;
}

const size_t* Network::OnlyReader(std::string_view value) const {
  const ValueUses& of = uses(value);
  return of.read_elsewhere || of.readers.size() != 1 ? nullptr : &of.readers[0];
}

FreshNames::FreshNames(const Network& network) {
  const auto add = [&](std::string_view name) { taken_.emplace(name); };
  for (const onnx::NamedRecord& record : network.model().graph.inputs) add(record.name);
  for (const onnx::NamedRecord& record : network.model().graph.initializers) add(record.name);
  std::set<std::string_view> inner;
  for (const onnx::NodeRecord& node : network.nodes()) {
    std::for_each(node.outputs.begin(), node.outputs.end(), add);
    add(node.name);
    AddSubGraphNames(node, inner);
  }
  std::for_each(inner.begin(), inner.end(), add);
}

std::string FreshNames::operator()(std::string wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

}  // namespace fettle::quantise
