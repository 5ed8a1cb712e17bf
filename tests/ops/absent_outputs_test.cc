// Outputs that nobody reads are left out of a node; the others are what they were.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/op.h"
#include "tensor/compare.h"

namespace fettle::ops {
namespace {

std::vector<Tensor> Outputs(const std::string& text) {
  const Result<ir::Graph> graph = Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << text;
  const Result<std::vector<Tensor>> inputs = ir::NoiseInputs(*graph, 17, {});
  EXPECT_TRUE(inputs.ok());
  Result<std::vector<Tensor>> outputs = EvaluateGraph(*graph, *inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message() << text;
  return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
}

/// The last output of `node`, with the first one read and without.
TEST(AbsentOutputs, FirstOnesChangeNoOther) {
  const struct {
    const char *inputs, *last, *between, *node;
  } cases[] = {
      {"input %x: f32[2x3x9x7]\n", "%i", "", "MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]}"},
      {"input %x: f32[4x6]\nconst %s: f32[6]\n", "%m", "", "LayerNormalization(%x, %s)"},
      {"input %x: f32[4x6]\nconst %s: f32[6]\n", "%m", "%v, ", "LayerNormalization(%x, %s)"},
      {"input %x: f32[4x9]\nconst %k: i64[1] = 3\n", "%i", "", "TopK(%x, %k)"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.node);
    const auto text = [&](const char* first) {
      return fmt::format("{}{}, {}{} = {}\noutput {}\n", c.inputs, first, c.between, c.last, c.node,
                         c.last);
    };
    const std::vector<Tensor> with = Outputs(text("%y")), without = Outputs(text("_"));
    ASSERT_EQ(with.size(), 1u);
    ASSERT_EQ(without.size(), 1u);
    EXPECT_TRUE(std::ranges::equal(with[0].bytes(), without[0].bytes()));
    EXPECT_TRUE(
        std::ranges::any_of(with[0].bytes(), [](std::byte b) { return b != std::byte{0}; }));
  }
}

}  // namespace
}  // namespace fettle::ops
