// com.microsoft.FusedConv becomes convolution, addition and activation.
#include <gtest/gtest.h>

#include "ops/import.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Tensor MakeFloats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::FromVector(shape, values).value();
}

/// act(2 x + 1 + z) over x = -2, -1, 0, 1 through a 1x1 convolution.
Result<std::vector<float>> RunFused(ir::Attributes attributes, const std::vector<float>& z) {
  std::vector<Tensor> inputs = {MakeFloats({1, 1, 2, 2}, {-2, -1, 0, 1}),
                                MakeFloats({1, 1, 1, 1}, {2}), MakeFloats({1}, {1})};
  if (!z.empty()) inputs.push_back(MakeFloats({1, 1, 2, 2}, z));
  ir::Graph graph;
  for (const Tensor& input : inputs)
    graph.inputs.push_back(graph.AddValue({.dtype = input.dtype(), .shape = input.shape()}));
  NeutralNode node;
  node.op_type = "FusedConv";
  node.domain = "com.microsoft";
  node.opset = 1;
  node.attributes = std::move(attributes);
  node.inputs = graph.inputs;
  node.outputs = {"y"};
  ImportContext context(node, graph);
  RETURN_IF_ERROR(Import(context));
  graph.outputs = {context.bound()[0]};
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, EvaluateGraph(graph, inputs));
  return std::vector<float>(outputs[0].as<float>().begin(), outputs[0].as<float>().end());
}

TEST(FusedConv, WithoutActivation) {
  EXPECT_EQ(RunFused({}, {}).value(), (std::vector<float>{-3, -1, 1, 3}));
}

TEST(FusedConv, AddsBeforeTheActivation) {
  EXPECT_EQ(RunFused({{"activation", std::string("Relu")}}, {5, 0, -2, 0}).value(),
            (std::vector<float>{2, 0, 0, 3}));
}

TEST(FusedConv, ActivationsTakeTheirParameters) {
  const std::vector<double> bounds = {-2, 0.5};
  EXPECT_EQ(
      RunFused({{"activation", std::string("Clip")}, {"activation_params", bounds}}, {}).value(),
      (std::vector<float>{-2, -1, 0.5, 0.5}));
  const std::vector<double> slope = {0.5};
  EXPECT_EQ(RunFused({{"activation", std::string("LeakyRelu")}, {"activation_params", slope}}, {})
                .value(),
            (std::vector<float>{-1.5, -0.5, 1, 3}));
}

TEST(FusedConv, RefusesAnUnknownActivation) {
  const auto result = RunFused({{"activation", std::string("Gloo")}}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace fettle::ops
