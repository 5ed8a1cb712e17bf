// Evaluates a graph in text form, for tests of oracles.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "ir/text.h"
#include "ops/op.h"

namespace fettle::ops {

/// The outputs of a graph without inputs; a failure of the test where it does not run.
inline std::vector<Tensor> EvaluateText(std::string_view text) {
  Result<ir::Graph> graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  const Status inferred = InferGraph(*graph);
  EXPECT_TRUE(inferred.ok()) << inferred.message();
  if (!inferred.ok()) return {};
  Result<std::vector<Tensor>> outputs = EvaluateGraph(*graph, {});
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return outputs.ok() ? *outputs : std::vector<Tensor>();
}

/// The elements of output 0 as doubles.
inline std::vector<double> ElementsOf(std::string_view text) {
  const std::vector<Tensor> outputs = EvaluateText(text);
  std::vector<double> elements;
  if (outputs.empty()) return elements;
  const HostView view = outputs[0].view();
  for (int64_t i = 0; i < view.shape.elements(); ++i) elements.push_back(view.GetDouble(i));
  return elements;
}

/// The message with which the inference of a graph fails.
inline std::string InferError(std::string_view text) {
  Result<ir::Graph> graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? InferGraph(*graph).message() : std::string();
}

}  // namespace fettle::ops
