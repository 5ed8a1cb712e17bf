#include "ops/op.h"

#include <algorithm>

#include "base/subnormals.h"

namespace fettle::ops {
namespace {

Status CheckArity(const Operator& op, const ir::Node& node) {
  const auto inputs = static_cast<int>(node.inputs.size());
  const auto outputs = static_cast<int>(node.outputs.size());
  if (inputs < op.min_inputs || (op.max_inputs >= 0 && inputs > op.max_inputs)) {
    const std::string most = op.max_inputs < 0 ? " or more" : fmt::format(" to {}", op.max_inputs);
    return InvalidModel("expected {}{} inputs, got {}", op.min_inputs, most, inputs);
  }
  if (outputs == 0) return InvalidModel("has no outputs");
  if (op.max_outputs >= 0 && outputs > op.max_outputs) {
    return InvalidModel("expected at most {} outputs, got {}", op.max_outputs, outputs);
  }
  return OkStatus();
}

/// An operand may be left out only where the operator says that it is optional; of a variadic
/// operator, none.
Status CheckPresent(const Operator& op, const InferContext& context) {
  if (op.Has(Trait::kControl)) return OkStatus();
  const int required = op.max_inputs < 0 ? context.num_inputs() : op.min_inputs;
  for (int i = 0; i < required; ++i) {
    if (!context.has_input(i)) return InvalidModel("input {} is required", i);
  }
  return OkStatus();
}

Status CheckOutputs(const InferContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (context.node().outputs[i] == ir::kAbsent) continue;
    const InferContext::Output& output = context.output(i);
    if (!output.set) return Error(StatusCode::kInternal, "output {} was not inferred", i);
    if (!output.shape.CheckedElements()) {
      return InvalidModel("output {} would have the shape {}", i, output.shape.ToString());
    }
  }
  return OkStatus();
}

Result<Inferred> RunInfer(const Operator& op, InferContext& context) {
  RETURN_IF_ERROR(CheckArity(op, context.node()));
  RETURN_IF_ERROR(CheckPresent(op, context));
  RETURN_IF_ERROR(op.infer(context));
  Inferred inferred;
  inferred.needed_input = context.needed_input();
  if (inferred.needed_input < 0) RETURN_IF_ERROR(CheckOutputs(context));
  inferred.outputs.reserve(context.num_outputs());
  for (int i = 0; i < context.num_outputs(); ++i) inferred.outputs.push_back(context.output(i));
  return inferred;
}

}  // namespace

std::vector<int64_t> InferContext::Ints(int i) const {
  std::vector<int64_t> ints;
  const Constant* constant = value(i);
  if (constant == nullptr) return ints;
  for (int64_t k = 0; k < constant->elements(); ++k) ints.push_back(constant->GetInt(k));
  return ints;
}

void InferContext::SetOutput(int i, DType dtype, Shape shape) {
  if (i >= num_outputs()) return;
  outputs_[i] = {dtype, std::move(shape), true};
}

Result<Inferred> Infer(const ir::Graph& graph, const ir::Node& node,
                       std::span<const std::shared_ptr<const Constant>> known) {
  std::vector<InferContext::Input> inputs;
  inputs.reserve(node.inputs.size());
  for (ir::ValueId id : node.inputs) {
    InferContext::Input input;
    if (id != ir::kAbsent) {
      const ir::Value& value = graph.value(id);
      FETTLE_CHECK(value.has_concrete_shape(), "inference needs concrete input shapes");
      input = {true, value.dtype, *value.shape, value.constant.get()};
      if (input.value == nullptr && static_cast<size_t>(id) < known.size()) {
        input.value = known[id].get();
      }
    }
    inputs.push_back(std::move(input));
  }
  InferContext context(node, std::move(inputs));
  Result<Inferred> inferred = RunInfer(OperatorOf(node), context);
  if (!inferred.ok()) return inferred.status().WithContext(ir::Describe(node));
  return inferred;
}

Status InferGraph(ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    ASSIGN_OR_RETURN(const Inferred inferred, Infer(graph, node));
    if (inferred.needed_input >= 0) {
      return Unsupported("{}: its shape depends on the data of input {}", ir::Describe(node),
                         inferred.needed_input);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == ir::kAbsent) continue;
      ir::Value& value = graph.value(node.outputs[i]);
      value.dtype = inferred.outputs[i].dtype;
      value.shape = inferred.outputs[i].shape;
    }
  }
  return OkStatus();
}

Result<std::vector<Tensor>> Evaluate(const ir::Node& node, std::span<const Tensor> inputs) {
  const Operator& op = OperatorOf(node);
  std::vector<Constant> values(inputs.size());
  std::vector<InferContext::Input> known;
  std::vector<HostView> input_views, output_views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) {
      known.emplace_back();
      input_views.emplace_back();
      continue;
    }
    values[i] = Constant::FromTensor(inputs[i]);
    known.push_back({true, inputs[i].dtype(), inputs[i].shape(), &values[i]});
    input_views.push_back(inputs[i].view());
  }
  InferContext context(node, std::move(known));
  Result<Inferred> inferred = RunInfer(op, context);
  if (!inferred.ok()) return inferred.status().WithContext(ir::Describe(node));
  if (op.reference == nullptr) return Unsupported("{}: has no reference", ir::Describe(node));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const InferContext::Output& output = inferred->outputs[i];
    Tensor tensor;
    // Oracles write every output, those that nobody reads too.
    if (output.set) {
      ASSIGN_OR_RETURN(tensor, Tensor::Create(output.dtype, output.shape));
    }
    output_views.push_back(tensor.empty() ? HostView() : tensor.view());
    outputs.push_back(std::move(tensor));
  }
  const Region whole{0, outputs.empty() || outputs[0].empty() ? 0 : outputs[0].elements()};
  const SubnormalScope scope(Subnormals::kKeep);
  const Status status = op.reference({node, input_views, output_views}, whole);
  if (!status.ok()) return status.WithContext(ir::Describe(node));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] == ir::kAbsent) outputs[i] = Tensor();
  }
  return outputs;
}

Result<std::vector<Tensor>> EvaluateGraph(const ir::Graph& graph, std::span<const Tensor> inputs) {
  IdVector<ir::ValueId, Tensor> values(graph.values().size());
  FETTLE_CHECK(inputs.size() == graph.inputs.size(), "one tensor per graph input");
  for (ir::ValueId id : values.ids()) {
    const ir::Value& value = graph.value(id);
    if (!value.is_constant()) continue;
    ASSIGN_OR_RETURN(values[id], value.constant->ToTensor());
  }
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const ir::Node& node : graph.nodes()) {
    std::vector<Tensor> operands;
    for (ir::ValueId id : node.inputs)
      operands.push_back(id == ir::kAbsent ? Tensor() : values[id]);
    ASSIGN_OR_RETURN(std::vector<Tensor> results, Evaluate(node, operands));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::kAbsent) values[node.outputs[i]] = results[i];
    }
  }
  std::vector<Tensor> outputs;
  for (ir::ValueId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

}  // namespace fettle::ops
