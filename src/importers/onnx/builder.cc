// The nodes of a graph; its interface is in interface.cc, functions and sub-graphs in expand.cc.
#include "importers/onnx/builder.h"

#include <algorithm>
#include <unordered_set>

#include "importers/onnx/attribute.h"
#include "importers/onnx/order.h"
#include "importers/onnx/tensor_data.h"
#include "ops/op.h"

namespace fettle::onnx {
namespace {

/// What function expansion may copy where the file is small.
constexpr size_t kLeastBudget = size_t{64} << 20;

Result<Constant> ScalarOrList(const AttributeMap& attributes) {
  const auto& [name, value] = *attributes.begin();
  const auto constant = [](const Result<Tensor>& tensor) -> Result<Constant> {
    if (!tensor.ok()) return tensor.status();
    return Constant::FromTensor(*tensor);
  };
  if (const auto* tensor = std::get_if<Constant>(&value)) return *tensor;
  if (const auto* number = std::get_if<double>(&value))
    return constant(Tensor::FromVector(Shape{}, std::vector<float>{static_cast<float>(*number)}));
  if (const auto* integer = std::get_if<int64_t>(&value))
    return constant(Tensor::FromVector(Shape{}, std::vector<int64_t>{*integer}));
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value))
    return constant(Tensor::FromVector(Shape{std::ssize(*integers)}, *integers));
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    const std::vector<float> floats(numbers->begin(), numbers->end());
    return constant(Tensor::FromVector(Shape{std::ssize(floats)}, floats));
  }
  return Unsupported("attribute '{}': constants of type string are not supported", name);
}

/// Nodes that write what is there before them would look like a cycle, or hide it.
Status CheckWriters(const std::vector<NodeRecord>& nodes, const Scope& scope) {
  for (size_t index = 0; index < nodes.size(); ++index) {
    for (size_t i = 0; i < nodes[index].outputs.size(); ++i) {
      const std::string_view name = nodes[index].outputs[i];
      if (name.empty() || !scope.Has(name)) continue;
      return InvalidModel("output {} '{}': a graph input or initialiser has this name", i, name)
          .WithContext(DescribeRecord(nodes[index], index, 0));
    }
  }
  return OkStatus();
}

}  // namespace

GraphBuilder::GraphBuilder(const ModelRecord& model, size_t file_bytes,
                           std::shared_ptr<const void> owner, ExternalFiles* external,
                           const ImportOptions& options)
    : model_(model),
      owner_(std::move(owner)),
      external_(external),
      options_(options),
      budget_(std::max(kLeastBudget, 4 * file_bytes)) {}

Status GraphBuilder::IndexFunctions() {
  for (const FunctionRecord& function : model_.functions) {
    const Key key{function.domain, function.name, function.overload};
    if (!functions_.emplace(key, &function).second)
      return InvalidModel("function '{}': is listed twice", function.name);
  }
  return OkStatus();
}

Result<ir::Graph> GraphBuilder::Build() {
  RETURN_IF_ERROR(IndexFunctions());
  ir::Graph graph;
  graph.name = model_.graph.name;
  main_ = &graph;
  Scope scope(&graph, nullptr);
  RETURN_IF_ERROR(AddInitializers(model_.graph, /*is_main=*/true, &scope));
  RETURN_IF_ERROR(AddInputs(model_.graph, /*is_main=*/true, &scope));
  const Frame frame{.opsets = &model_.opsets};
  RETURN_IF_ERROR(ImportNodes(model_.graph.nodes, AskedFor(), frame, &scope));
  RETURN_IF_ERROR(AddOutputs(model_.graph, /*is_main=*/true, report_, &scope));
  if (!options_.unsupported_are_inputs) RETURN_IF_ERROR(report_.ToStatus());
  RETURN_IF_ERROR(graph.Normalise());
  RETURN_IF_ERROR(ir::Verify(graph));
  return graph;
}

Status GraphBuilder::ImportNodes(const std::vector<NodeRecord>& nodes,
                                 std::span<const std::string_view> outputs, const Frame& frame,
                                 Scope* scope) {
  nodes_ += nodes.size();
  if (nodes_ > static_cast<size_t>(kMaxNodes))
    return InvalidModel("more than {} nodes after functions are expanded", kMaxNodes);
  RETURN_IF_ERROR(CheckWriters(nodes, *scope));
  ASSIGN_OR_RETURN(const ImportPlan plan, PlanImport(nodes, outputs));
  Frame here = frame;
  for (size_t index : plan.order) {
    const NodeRecord& node = nodes[index];
    const auto is_named = [](std::string_view name) { return !name.empty(); };
    if (std::ranges::none_of(node.outputs, is_named)) continue;  // nobody can see what it does
    here.needed = frame.needed && plan.needed[index];
    const Status status = ImportNode(node, index, here, scope);
    if (!status.ok())
      return status.WithContext(DescribeRecord(node, index, OpsetOf(node.domain, frame)));
  }
  return OkStatus();
}

Status GraphBuilder::ImportNode(const NodeRecord& node, size_t index, const Frame& frame,
                                Scope* scope) {
  if (const FunctionRecord* function = FindFunction(node))
    return ExpandFunction(*function, node, index, frame, scope);
  const int64_t opset = OpsetOf(node.domain, frame);
  const auto refuse = [&](std::string_view reason) {
    ReportOf(frame).AddOperator(node.domain, node.op_type, opset, index, frame.prefix + node.name,
                                reason);
    return RefuseOutputs(node, frame, scope);
  };
  if (node.domain.empty() && node.op_type == "Constant") {
    const Result<ir::ValueId> id = MakeConstant(node, frame, scope);
    if (id.ok()) return BindOutputs(node, {*id}, frame, scope);
    const bool unsupported = id.status().code() == StatusCode::kUnsupported;
    return unsupported ? refuse(id.status().message()) : id.status();
  }
  const bool of_sequences = IsOfSequences(node, scope);
  const Status rule = of_sequences
                          ? OkStatus()
                          : ops::CheckRule(node.domain, node.op_type, static_cast<int>(opset));
  if (!rule.ok()) return refuse(rule.message());
  ops::NeutralNode neutral;
  std::vector<SharedSequence> sequences;
  ASSIGN_OR_RETURN(const bool complete, ReadOperands(node, frame, scope, &neutral.inputs,
                                                     of_sequences ? &sequences : nullptr));
  if (!complete) return RefuseOutputs(node, frame, scope);
  neutral.op_type = node.op_type;
  neutral.domain = node.domain;
  neutral.opset = static_cast<int>(opset);
  neutral.name = frame.prefix + LabelOf(node, index);
  neutral.index = frame.index >= 0 ? frame.index : static_cast<int>(index);
  const Status status = of_sequences ? RunSequenceRule(neutral, sequences, node, frame, scope)
                                     : RunRule(neutral, node, frame, scope);
  if (status.code() != StatusCode::kUnsupported) return status;
  return status.message().empty() ? RefuseOutputs(node, frame, scope) : refuse(status.message());
}

Result<bool> GraphBuilder::ReadOperands(const NodeRecord& node, const Frame& frame, Scope* scope,
                                        std::vector<ir::ValueId>* ids,
                                        std::vector<SharedSequence>* sequences) {
  bool complete = true;
  if (sequences != nullptr) sequences->resize(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string_view name = node.inputs[i];
    if (name.empty()) {
      ids->push_back(ir::kAbsent);
      continue;
    }
    const Binding* binding = scope->Find(name);
    if (binding == nullptr) {
      return InvalidModel("input {} '{}': no graph input, initialiser or node output has this name",
                          i, name);
    }
    if (sequences != nullptr) (*sequences)[i] = binding->sequence;
    const bool is_taken = sequences != nullptr && binding->sequence != nullptr;
    if (!binding->refused.ok() && !is_taken) {
      complete = false;
      if (!binding->refused.message().empty()) ReportOf(frame).AddOther(binding->refused.message());
    }
    ids->push_back(binding->id);
  }
  return complete;
}

Status GraphBuilder::RunRule(ops::NeutralNode& neutral, const NodeRecord& node, const Frame& frame,
                             Scope* scope) {
  ASSIGN_OR_RETURN(const AttributeMap attributes, ReadAttributes(node, frame));
  for (const auto& [name, value] : attributes) neutral.attributes.Set(name, value);
  RETURN_IF_ERROR(ImportSubGraphs(node, frame, scope, &neutral));
  size_t used = node.outputs.size();
  // Of a Split, their number says into how many parts.
  while (node.op_type != "Split" && used > 0 && node.outputs[used - 1].empty()) --used;
  neutral.outputs.assign(node.outputs.begin(), node.outputs.begin() + static_cast<ptrdiff_t>(used));
  ops::ImportContext context(neutral, scope->graph());
  RETURN_IF_ERROR(ops::Import(context));
  return BindOutputs(node, context.bound(), frame, scope);
}

Status GraphBuilder::BindOutputs(const NodeRecord& node, const std::vector<ir::ValueId>& bound,
                                 const Frame& frame, Scope* scope) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (name.empty()) continue;
    Binding binding;
    if (i < bound.size() && bound[i] != ir::kAbsent) {
      binding.id = bound[i];
      ir::Value& value = scope->graph().value(binding.id);
      if (value.name.empty()) value.name = frame.prefix + std::string(name);
    } else {
      binding = scope->Refuse(Unsupported("value '{}': output {} of operator {} is not supported",
                                          name, i, node.op_type));
    }
    if (!scope->Define(name, std::move(binding)))
      return InvalidModel("output {} '{}': a graph input or initialiser has this name", i, name);
  }
  return OkStatus();
}

Status GraphBuilder::RefuseOutputs(const NodeRecord& node, const Frame& frame, Scope* scope) {
  if (IsLookedAt(frame, *scope)) KeepOperands(node, scope);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (!name.empty() && !scope->Define(name, Missing(name, frame, scope)))
      return InvalidModel("output {} '{}': a graph input or initialiser has this name", i, name);
  }
  return OkStatus();
}

Result<ir::ValueId> GraphBuilder::MakeConstant(const NodeRecord& node, const Frame& frame,
                                               Scope* scope) {
  ASSIGN_OR_RETURN(const AttributeMap attributes, ReadAttributes(node, frame));
  if (attributes.size() != 1)
    return InvalidModel("expected one attribute with the value, got {}", attributes.size());
  ASSIGN_OR_RETURN(Constant constant, ScalarOrList(attributes));
  return scope->graph().AddConstant("", std::move(constant));
}

int64_t GraphBuilder::OpsetOf(std::string_view domain, const Frame& frame) const {
  for (const std::vector<OpsetImport>* imports : {frame.opsets, &model_.opsets}) {
    for (const OpsetImport& import : *imports) {
      if (import.domain == domain) return import.version;
    }
  }
  return 1;
}

}  // namespace fettle::onnx
