// Small networks in fp32, and data for them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quantise/samples.h"
#include "tests/importers/model_writer.h"

namespace fettle::quantise_test {

using onnx_test::FloatTensor;
using onnx_test::GraphParts;
using onnx_test::IntsAttribute;
using onnx_test::kFloat;
using onnx_test::Node;
using onnx_test::SeededFloats;
using onnx_test::Value;
using quantise::Samples;

/// x -> Conv -> Relu -> MaxPool -> (Conv, + itself) -> Relu -> GlobalAveragePool -> Flatten ->
/// Gemm.
inline GraphParts Residual() {
  return {
      .nodes = {Node("Conv", {"x", "w1", "b1"}, {"c1"}, {IntsAttribute("pads", {1, 1, 1, 1})},
                     "first"),
                Node("Relu", {"c1"}, {"r1"}),
                Node("MaxPool", {"r1"}, {"p1"},
                     {IntsAttribute("kernel_shape", {2, 2}), IntsAttribute("strides", {2, 2})}),
                Node("Conv", {"p1", "w2"}, {"c2"}, {IntsAttribute("pads", {1, 1, 1, 1})}, "second"),
                Node("Add", {"c2", "p1"}, {"s"}), Node("Relu", {"s"}, {"r2"}),
                Node("GlobalAveragePool", {"r2"}, {"g"}), Node("Flatten", {"g"}, {"f"}),
                Node("Gemm", {"f", "w3", "b3"}, {"y"}, {}, "last")},
      .inputs = {Value("x", kFloat, {1, 3, 8, 8})},
      .outputs = {Value("y", kFloat, {1, 5})},
      .initializers = {FloatTensor("w1", {4, 3, 3, 3}, SeededFloats(108, 1)),
                       FloatTensor("b1", {4}, SeededFloats(4, 2)),
                       FloatTensor("w2", {4, 4, 3, 3}, SeededFloats(144, 3)),
                       FloatTensor("w3", {4, 5}, SeededFloats(20, 4)),
                       FloatTensor("b3", {5}, SeededFloats(5, 5))}};
}

/// x -> Conv -> BatchNormalization -> Relu -> GlobalAveragePool -> Flatten -> Gemm.
inline GraphParts Normalised() {
  std::vector<float> variances = SeededFloats(4, 8);
  for (float& variance : variances) variance = 1.5f + variance;
  return {.nodes = {Node("Conv", {"x", "w1"}, {"c1"}, {}, "first"),
                    Node("BatchNormalization", {"c1", "s", "o", "m", "v"}, {"n"}),
                    Node("Relu", {"n"}, {"r"}), Node("GlobalAveragePool", {"r"}, {"g"}),
                    Node("Flatten", {"g"}, {"f"}), Node("Gemm", {"f", "w2"}, {"y"}, {}, "last")},
          .inputs = {Value("x", kFloat, {1, 3, 8, 8})},
          .outputs = {Value("y", kFloat, {1, 5})},
          .initializers = {
              FloatTensor("w1", {4, 3, 3, 3}, SeededFloats(108, 1)),
              FloatTensor("w2", {4, 5}, SeededFloats(20, 4)),
              FloatTensor("s", {4}, SeededFloats(4, 5)), FloatTensor("o", {4}, SeededFloats(4, 6)),
              FloatTensor("m", {4}, SeededFloats(4, 7)), FloatTensor("v", {4}, variances)}};
}

inline Samples Pictures(size_t count) {
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    runtime::TensorMap inputs;
    inputs.emplace("x", *Tensor::FromVector<float>(Shape{1, 3, 8, 8}, SeededFloats(192, 100 + i)));
    samples.push_back(std::move(inputs));
  }
  return samples;
}

inline std::shared_ptr<const runtime::Model> Load(const std::string& bytes) {
  auto model = runtime::Model::LoadBytes(std::as_bytes(std::span(bytes)), "m.onnx");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *model;
}

}  // namespace fettle::quantise_test
