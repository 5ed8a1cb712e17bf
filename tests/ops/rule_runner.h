// Runs one import rule on constant inputs and evaluates what it emitted.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/import.h"
#include "ops/op.h"

namespace fettle::ops {

/// One ONNX node to import; an empty tensor is an operand left out.
struct RuleInput {
  std::string op_type;
  std::string_view domain;
  int opset = 1;
  ir::Attributes attributes;
  std::vector<Tensor> inputs;
  size_t outputs = 1;
};

/// The outputs of the node, computed by the references of the canonical nodes that its rule emits.
inline Result<std::vector<Tensor>> RunRule(const RuleInput& input) {
  ir::Graph graph;
  NeutralNode node{
      input.op_type, std::string(input.domain), "n", input.opset, 0, input.attributes, {}, {}};
  for (const Tensor& tensor : input.inputs) {
    node.inputs.push_back(tensor.empty() ? ir::kAbsent
                                         : graph.AddConstant("", Constant::FromTensor(tensor)));
  }
  for (size_t i = 0; i < input.outputs; ++i) node.outputs.push_back(fmt::format("y{}", i));
  ImportContext context(node, graph);
  RETURN_IF_ERROR(Import(context));
  graph.outputs = context.bound();
  RETURN_IF_ERROR(graph.Normalise());
  return EvaluateGraph(graph, {});
}

template <typename T>
Tensor Make(const Shape& shape, const std::vector<T>& values) {
  return Tensor::FromVector(shape, values).value();
}
inline Tensor Scalar(float value) { return Make<float>(Shape{}, {value}); }

/// The elements of output `i` as doubles; empty (and a failure) where the rule did not run.
inline std::vector<double> Elements(const Result<std::vector<Tensor>>& outputs, size_t i = 0) {
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<double> elements;
  if (!outputs.ok()) return elements;
  const HostView view = (*outputs)[i].view();
  for (int64_t k = 0; k < view.shape.elements(); ++k) elements.push_back(view.GetDouble(k));
  return elements;
}

}  // namespace fettle::ops
