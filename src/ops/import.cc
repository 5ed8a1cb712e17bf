#include "ops/import.h"

#include <unordered_map>

namespace fettle::ops {
namespace {

struct Entry {
  const ImportRule* rule;
  const Operator* op;  // null for rules that belong to no row
};

const std::unordered_multimap<std::string_view, Entry>& Rules() {
  static const auto index = [] {
    std::unordered_multimap<std::string_view, Entry> rules;
    for (const Operator* op : AllOps()) {
      for (const ImportRule& rule : op->imports) rules.emplace(rule.op_type, Entry{&rule, op});
    }
    for (const ImportRule& rule : LegacyImports())
      rules.emplace(rule.op_type, Entry{&rule, nullptr});
    return rules;
  }();
  return index;
}

/// kUnsupported without a message where no opset has a rule.
Result<Entry> FindRule(std::string_view domain, std::string_view op_type, int opset) {
  int nearest = 0;
  const auto [begin, end] = Rules().equal_range(op_type);
  for (auto it = begin; it != end; ++it) {
    const ImportRule& rule = *it->second.rule;
    if (rule.domain != domain) continue;
    if (opset >= rule.since && opset <= rule.until) return it->second;
    nearest = rule.since;
  }
  if (nearest > 0) return Unsupported("is supported from opset {} on", nearest);
  return Status(StatusCode::kUnsupported, "");
}

Constant ConstantOf(const Result<Tensor>& tensor) { return Constant::FromTensor(tensor.value()); }

/// Whether a rule left out no operand that the operator of a node requires: passes read those.
Status CheckOperands(const ir::Node& node) {
  if (node.op->Has(Trait::kControl)) return OkStatus();
  const int required =
      node.op->max_inputs < 0 ? static_cast<int>(node.inputs.size()) : node.op->min_inputs;
  for (int i = 0; i < required; ++i)
    if (node.input(i) == ir::kAbsent) return InvalidModel("input {} is required", i);
  return OkStatus();
}

}  // namespace

const Constant* ImportContext::constant(size_t i) const {
  return has_input(i) ? graph_.value(input(i)).constant.get() : nullptr;
}

std::optional<int> ImportContext::rank(size_t i) const {
  if (!has_input(i) || !graph_.value(input(i)).shape.has_value()) return std::nullopt;
  return graph_.value(input(i)).shape->rank();
}

std::vector<ir::ValueId> ImportContext::Emit(std::string_view op, std::vector<ir::ValueId> inputs,
                                             ir::Attributes attributes, size_t outputs) {
  ir::Node node;
  node.op = &Get(op);
  node.name = node_.name;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  while (!node.inputs.empty() && node.inputs.back() == ir::kAbsent) node.inputs.pop_back();
  node.source_index = node_.index;
  node.source_op = node_.op_type;
  node.source_opset = node_.opset;
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(graph_.AddValue({}));
  std::vector<ir::ValueId> results = node.outputs;
  graph_.AddNode(std::move(node));
  return results;
}

ir::ValueId ImportContext::Emit1(std::string_view op, std::vector<ir::ValueId> inputs,
                                 ir::Attributes attributes) {
  return Emit(op, std::move(inputs), std::move(attributes))[0];
}

ir::ValueId ImportContext::Const(Constant constant) {
  return graph_.AddConstant("", std::move(constant));
}

ir::ValueId ImportContext::ConstInts(const std::vector<int64_t>& values) {
  return Const(ConstantOf(Tensor::FromVector(Shape{static_cast<int64_t>(values.size())}, values)));
}

ir::ValueId ImportContext::ConstFloats(const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return Const(ConstantOf(Tensor::FromVector(Shape{static_cast<int64_t>(values.size())}, floats)));
}

ir::ValueId ImportContext::ConstScalar(DType dtype, double value) {
  Result<Tensor> tensor = Tensor::Create(dtype, Shape{});
  tensor->view().SetDouble(0, value);
  return Const(ConstantOf(tensor));
}

void ImportContext::Bind(size_t i, ir::ValueId value) {
  if (bound_.size() <= i) bound_.resize(i + 1, ir::kAbsent);
  bound_[i] = value;
}

void ImportContext::Copy(std::string_view op, ir::Attributes attributes) {
  const std::vector<ir::ValueId> results =
      Emit(op, node_.inputs, std::move(attributes), node_.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) Bind(i, results[i]);
}

Status CheckRule(std::string_view domain, std::string_view op_type, int opset) {
  return FindRule(domain, op_type, opset).status();
}

Status Import(ImportContext& context) {
  const NeutralNode& node = context.node();
  ASSIGN_OR_RETURN(const Entry entry, FindRule(node.domain, node.op_type, node.opset));
  const size_t before = context.graph().nodes().size();
  if (entry.rule->run != nullptr)
    RETURN_IF_ERROR(entry.rule->run(context));
  else
    context.Copy(entry.op->name, node.attributes);
  for (size_t i = before; i < context.graph().nodes().size(); ++i)
    RETURN_IF_ERROR(CheckOperands(context.graph().nodes()[i]));
  return OkStatus();
}

}  // namespace fettle::ops
