// Operators that take any number of operands, lengths that inputs name, results that nobody reads,
// nodes that run sub-graphs: computed as they are, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ops/op.h"
#include "runtime/blocks.h"
#include "runtime/session.h"
#include "tests/session_of.h"

namespace fettle::runtime {
namespace {

using testing::HasSubstr;

TEST(ManyOperands, AreAddedUpBeyondSixteenBits) {
  constexpr int kOperands = 40000;
  std::string text = "input %x: f32[3]\nconst %c: f32[] = 1\n%y = Sum(%x";
  for (int i = 1; i < kOperands; ++i) text += ", %c";
  const auto session = SessionOf(text + ")\noutput %y\n", {.threads = 1});
  TensorMap outputs;
  const Tensor x = Tensor::FromVector(Shape{3}, std::vector<float>{0, 1, 2}).value();
  const Status status = session->Run({{"x", x}}, &outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(outputs.at("y").as<float>()[i], static_cast<float>(kOperands - 1 + i));
}

TEST(AttentionLengths, BeyondTheBiasAreRefused) {
  const std::string text =
      "input %q: f32[1x1x64]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
      "input %pk: f32[1x2x12x16]\ninput %pv: f32[1x2x12x16]\ninput %b: f32[1x1x1x8]\n"
      "input %n: i32[1]\nconst %t: i32[] = 8\n%y, %nk, %nv = GroupQueryAttention("
      "%q, %k, %v, %pk, %pv, %n, %t, %b) {kv_num_heads=2, num_heads=4}\noutput %y\n";
  TensorMap inputs;
  for (const auto& [name, shape] : std::map<std::string, Shape>{{"q", {1, 1, 64}},
                                                                {"k", {1, 1, 32}},
                                                                {"v", {1, 1, 32}},
                                                                {"pk", {1, 2, 12, 16}},
                                                                {"pv", {1, 2, 12, 16}},
                                                                {"b", {1, 1, 1, 8}}})
    inputs[name] = Tensor::Create(DType::kF32, shape).value();
  for (const bool reference : {false, true}) {
    const auto session = SessionOf(text, {.threads = 1, .reference_only = reference});
    TensorMap outputs;
    inputs["n"] = Tensor::FromVector(Shape{1}, std::vector<int32_t>{7}).value();
    EXPECT_TRUE(session->Run(inputs, &outputs).ok());
    // Twelve keys are there, and a bias for eight of them.
    inputs["n"] = Tensor::FromVector(Shape{1}, std::vector<int32_t>{9}).value();
    const Status status = session->Run(inputs, &outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("does not fit"));
  }
}

/// A Split into three of which `read` are outputs, beside what is computed of them.
std::string SplitText(unsigned read, bool negates) {
  std::string names, rest;
  for (int i = 0; i < 3; ++i) {
    const bool is_read = (read >> i & 1) != 0;
    names += fmt::format("{}{}", i == 0 ? "" : ", ", is_read ? fmt::format("%s{}", i) : "_");
    if (!is_read) continue;
    rest += negates ? fmt::format("%y{0} = Neg(%s{0})\noutput %y{0}\n", i)
                    : fmt::format("output %s{}\n", i);
  }
  return fmt::format("input %x: f32[2x6x5]\n{} = Split(%x) {{axis=1}}\n{}", names, rest);
}

TEST(UnreadOutputs, OfMovesAreLeftOut) {
  std::vector<float> values(60);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 20;
  const Tensor x = Tensor::FromVector(Shape{2, 6, 5}, values).value();
  for (unsigned read = 1; read < 8; ++read) {
    for (const bool negates : {false, true}) {
      SCOPED_TRACE(SplitText(read, negates));
      const auto session = SessionOf(SplitText(read, negates), {.threads = 1});
      TensorMap outputs;
      ASSERT_TRUE(session->Run({{"x", x}}, &outputs).ok());
      EXPECT_TRUE(std::ranges::any_of(session->profile(),
                                      [](const exec::StepProfile& step) {
                                        return step.kernel == "cpu.move" || step.kernel.empty();
                                      }) ||
                  negates);
      for (int part = 0; part < 3; ++part) {
        const std::string name = fmt::format("{}{}", negates ? "y" : "s", part);
        ASSERT_EQ(outputs.contains(name), (read >> part & 1) != 0);
        if (!outputs.contains(name)) continue;
        for (int64_t i = 0; i < 20; ++i) {
          const float value = values[i / 10 * 30 + part * 10 + i % 10];
          ASSERT_EQ(outputs.at(name).as<float>()[i], negates ? -value : value) << name << " " << i;
        }
      }
    }
  }
}

/// v0 = x; v(i + 1) = c ? v(i) + x : -v(i). Outputs: x, the first of them, one in the middle, the
/// last, and a constant.
std::string ChainOfIfs(int count) {
  std::string text = "input %c: bool[]\ninput %x: f32[2]\nconst %k: f32[1] = 7\n%v0 = Abs(%x)\n";
  for (int i = 0; i < count; ++i)
    text += fmt::format(R"(%v{} = If(%c, %v{}, %x) {{captures=2, then_branch=graph
  input %a{}: f32[2]
  input %b{}: f32[2]
  %r = Add(%a{}, %b{})
  output %r
end, else_branch=graph
  input %d{}: f32[2]
  input %e{}: f32[2]
  %s = Neg(%d{})
  output %s
end}}
)",
                        i + 1, i, i, i, i, i, i, i, i);
  return text + fmt::format("output %x\noutput %v1\noutput %v{}\noutput %v{}\noutput %k\n",
                            count / 2, count);
}

TEST(Blocks, HoldEachNodeOnceAndFewThatRunSubGraphs) {
  constexpr int kCount = 300;
  const Result<ir::Graph> graph = ops::Parse(ChainOfIfs(kCount));
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const std::vector<Block> blocks = SplitAtControl(*graph);
  EXPECT_EQ(blocks.size(), (kCount + kControlNodes - 1) / kControlNodes);
  size_t nodes = 0, done = 0;
  for (const Block& block : blocks) {
    nodes += block.graph->nodes().size();
    done += block.done.size();
    EXPECT_LE(block.graph->nodes().size(), static_cast<size_t>(kControlNodes + 1));
    // The condition, x and the value before.
    EXPECT_LE(block.inputs.size(), 3U);
    EXPECT_EQ(block.inputs.size(), block.graph->inputs.size());
    EXPECT_EQ(block.outputs.size(), block.graph->outputs.size());
  }
  EXPECT_EQ(nodes, graph->nodes().size());
  // All values but the five outputs.
  EXPECT_EQ(done, graph->values().size() - 5);
}

TEST(Blocks, ComputeWhatTheWholeDoes) {
  const Tensor x = Tensor::FromVector(Shape{2}, std::vector<float>{1, 2}).value();
  for (const int count : {1, kControlNodes, kControlNodes + 1, kControlNodes + 2, 50}) {
    const auto session = SessionOf(ChainOfIfs(count), {.threads = 1});
    for (const bool condition : {true, false, true}) {
      TensorMap outputs;
      const Tensor c = Tensor::FromVector(Shape{}, std::vector<bool>{condition}).value();
      const Status status = session->Run({{"c", c}, {"x", x}}, &outputs);
      ASSERT_TRUE(status.ok()) << status.message();
      for (const int at : {1, count / 2, count}) {
        const float want = condition ? 1 + static_cast<float>(at) : (at % 2 == 0 ? 1.0f : -1.0f);
        const std::string name = fmt::format("v{}", at);
        ASSERT_EQ(outputs.at(name).as<float>()[0], want) << count << " " << at;
        ASSERT_EQ(outputs.at(name).as<float>()[1], 2 * want);
      }
      EXPECT_EQ(outputs.at("x").as<float>()[1], 2);
      EXPECT_EQ(outputs.at("k").as<float>()[0], 7);
    }
  }
}

}  // namespace
}  // namespace fettle::runtime
