// Whether a rewrite keeps what a graph computes: before and after, on noise, through the oracles.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/text.h"
#include "ops/op.h"
#include "passes/pipeline.h"
#include "tensor/compare.h"

namespace fettle::passes {

inline ir::Graph ParseGraph(std::string_view text) {
  Result<ir::Graph> graph = ops::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? std::move(*graph) : ir::Graph();
}

/// Both graphs, which have the same inputs, give the same outputs up to rounding.
inline void ExpectSameResults(const ir::Graph& before, const ir::Graph& after,
                              double tolerance = 2e-5, const ir::NoiseHints& hints = {}) {
  const Result<std::vector<Tensor>> inputs = ir::NoiseInputs(before, 17, hints);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  const Result<std::vector<Tensor>> want = ops::EvaluateGraph(before, *inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  const Result<std::vector<Tensor>> got = ops::EvaluateGraph(after, *inputs);
  ASSERT_TRUE(got.ok()) << got.status().message() << "\n" << ir::Print(after);
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ(before.value(before.outputs[i]).name, after.value(after.outputs[i]).name);
    EXPECT_EQ((*got)[i].dtype(), (*want)[i].dtype());
    ASSERT_EQ((*got)[i].shape(), (*want)[i].shape()) << ir::Print(after);
    const Difference difference =
        Compare((*got)[i].view(), (*want)[i].view(), {tolerance, tolerance});
    EXPECT_TRUE(difference.ok()) << difference.ToString((*want)[i].shape()) << "\n"
                                 << ir::Print(after);
  }
}

/// The operators that are left, in order.
inline std::string Ops(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node& node : graph.nodes())
    text += fmt::format("{}{}", text.empty() ? "" : " ", node.op);
  return text;
}

/// Runs one rewrite on `text` (whose shapes are inferred first if `infer`), checks the graph and
/// its results, and returns it.
inline ir::Graph Rewrite(Result<bool> (*run)(ir::Graph&), std::string_view text, bool infer = true,
                         double tolerance = 2e-5) {
  const ir::Graph before = ParseGraph(text);
  ir::Graph after = before;
  if (infer) {
    const Status inferred = ops::InferGraph(after);
    EXPECT_TRUE(inferred.ok()) << inferred.message();
  }
  const Result<bool> changed = run(after);
  EXPECT_TRUE(changed.ok()) << changed.status().message();
  const Status valid = ir::Verify(after);
  EXPECT_TRUE(valid.ok()) << valid.message() << "\n" << ir::Print(after);
  if (valid.ok()) ExpectSameResults(before, after, tolerance);
  return after;
}

}  // namespace fettle::passes
