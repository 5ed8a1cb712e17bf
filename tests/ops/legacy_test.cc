// Operators that ONNX removed become plain arithmetic.
#include <gtest/gtest.h>

#include "ops/import.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Imports one node of opset 7 over a constant-free input and evaluates it.
Result<Tensor> ImportAndRun(std::string_view op, ir::Attributes attributes, const Tensor& x) {
  ir::Graph graph;
  graph.inputs = {graph.AddValue({.name = "x", .dtype = x.dtype(), .shape = x.shape()})};
  NeutralNode node;
  node.op_type = op;
  node.opset = 7;
  node.attributes = std::move(attributes);
  node.inputs = graph.inputs;
  node.outputs = {"y"};
  ImportContext context(node, graph);
  RETURN_IF_ERROR(Import(context));
  graph.outputs = {context.bound()[0]};
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, EvaluateGraph(graph, {{x}}));
  return outputs[0];
}

Tensor Ramp(const Shape& shape) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return tensor;
}

std::vector<float> Values(const Result<Tensor>& tensor) {
  EXPECT_TRUE(tensor.ok()) << tensor.status().message();
  if (!tensor.ok()) return {};
  return {tensor->as<float>().begin(), tensor->as<float>().end()};
}

TEST(Legacy, ImageScalerScalesThenAddsPerChannel) {
  const auto y = ImportAndRun(
      "ImageScaler", {{"scale", 0.5}, {"bias", std::vector<double>{10, 20}}}, Ramp({1, 2, 1, 2}));
  EXPECT_EQ(Values(y), (std::vector<float>{10, 10.5, 21, 21.5}));
}

TEST(Legacy, AffineAndScale) {
  EXPECT_EQ(Values(ImportAndRun("Affine", {{"alpha", 2.0}, {"beta", 1.0}}, Ramp({3}))),
            (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(Values(ImportAndRun("Scale", {{"scale", 3.0}}, Ramp({3}))),
            (std::vector<float>{0, 3, 6}));
}

TEST(Legacy, CropCutsTheBorder) {
  const auto y =
      ImportAndRun("Crop", {{"border", std::vector<int64_t>{1, 0, 0, 1}}}, Ramp({1, 1, 2, 3}));
  EXPECT_EQ(Values(y), (std::vector<float>{1, 2}));
}

TEST(Legacy, CropKeepsAWindow) {
  const auto y = ImportAndRun(
      "Crop", {{"border", std::vector<int64_t>{1, 1, 0, 0}}, {"scale", std::vector<int64_t>{1, 2}}},
      Ramp({1, 1, 3, 4}));
  EXPECT_EQ(Values(y), (std::vector<float>{5, 6}));
}

TEST(Legacy, CropRefusesABadBorder) {
  const auto y = ImportAndRun("Crop", {{"border", std::vector<int64_t>{1, 0}}}, Ramp({1, 1, 2, 3}));
  ASSERT_FALSE(y.ok());
  EXPECT_EQ(y.status().code(), StatusCode::kInvalidModel);
}

}  // namespace
}  // namespace fettle::ops
