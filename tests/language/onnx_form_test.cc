// What the inputs and outputs of ONNX language models are.
#include "language/onnx/onnx_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "language/onnx/last_row.h"
#include "ops/op.h"

namespace fettle::language {
namespace {

/// A decoder of one attention; `end` makes %logits of %h [1, tokens, 8].
ir::Graph Decoder(std::string_view counts, std::string_view end) {
  const std::string text = fmt::format(
      "input %input_ids: i64[1x?]\ninput %attention_mask: i64[1x?]\n"
      "input %past_k: f32[1x1x?x8]\ninput %past_v: f32[1x1x?x8]\n"
      "const %table: f32[20x8]\nconst %w: f32[8x20]\nconst %cap: f32[] = 30\nconst %one: i64[] = "
      "1\n"
      "const %axis: i64[1] = 1\n%h0 = Gather(%table, %input_ids)\n{}"
      "%h, %present_k, %present_v = GroupQueryAttention(%h0, %h0, %h0, "
      "%past_k, %past_v, %seqlens, %total) {{kv_num_heads=1, "
      "num_heads=1}}\n{}"
      "output %logits\noutput %present_k\n"
      "output %present_v\n",
      counts, end);
  auto graph =
      ir::Parse(text, [](std::string_view name) -> const ir::OpDesc* { return ops::Find(name); });
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

constexpr std::string_view kCounts =
    "%sum = ReduceSum(%attention_mask, %axis) {keepdims=0}\n%less = Sub(%sum, %one)\n"
    "%seqlens = Cast(%less) {to=\"i32\"}\n%extents = Shape(%attention_mask)\n"
    "%all = Gather(%extents, %one)\n%total = Cast(%all) {to=\"i32\"}\n";
constexpr std::string_view kProduct = "%logits: f32[1x?x20] = MatMul(%h, %w)\n";

OnnxForm FormOf(const ir::Graph& graph) {
  const auto form = ReadOnnxForm(graph, {});
  EXPECT_TRUE(form.ok()) << form.status().message();
  return form.ok() ? *form : OnnxForm();
}

TEST(OnnxFormTest, MasksThatOnlyCountAllowCachesInPlace) {
  EXPECT_TRUE(FormOf(Decoder(kCounts, kProduct)).in_place);
  // Positions that a mask makes are wrong where it is longer than the tokens are.
  const std::string positions =
      std::string(kCounts) +
      "%steps = CumSum(%attention_mask, %one)\n%more = Cast(%steps) {to=\"f32\"}\n";
  EXPECT_FALSE(FormOf(Decoder(positions,
                              "%m = ReduceMax(%more) {keepdims=0}\n%g = Mul(%h, %m)\n"
                              "%logits: f32[1x?x20] = MatMul(%g, %w)\n"))
                   .in_place);
  const std::string used = std::string(kCounts) + "%bias = Cast(%sum) {to=\"f32\"}\n";
  EXPECT_FALSE(FormOf(Decoder(used, "%g = Mul(%h, %bias)\n%logits: f32[1x?x20] = MatMul(%g, %w)\n"))
                   .in_place);
}

/// Whether the product got one row alone.
bool Picks(std::string_view end) {
  ir::Graph graph = Decoder(kCounts, end);
  OnnxForm form = FormOf(graph);
  const Status status = PickLastRow(graph, form);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(ir::Verify(graph).ok());
  return !form.row.name.empty();
}

TEST(LastRowTest, ProductsBeforeElementwiseStepsGetOneRow) {
  EXPECT_TRUE(Picks(kProduct));
  EXPECT_TRUE(
      Picks("%p = MatMul(%h, %w)\n%d = Div(%p, %cap)\n%t = Tanh(%d)\n%logits: f32[1x?x20] = "
            "Mul(%t, %cap)\n"));
  EXPECT_TRUE(Picks("%wt = Identity(%w)\n%logits: f32[1x?x20] = MatMul(%h, %wt)\n"));
}

TEST(LastRowTest, OthersStayAsTheyAre) {
  EXPECT_FALSE(Picks("%p = MatMul(%h, %w)\n%logits: f32[1x?x20] = CumSum(%p, %one)\n"));
  EXPECT_FALSE(Picks("%p = MatMul(%h, %w)\n%logits: f32[1x?x20] = Add(%p, %p)\n"));
  EXPECT_FALSE(
      Picks("%logits: f32[1x?x20] = MatMul(%h, %w)\noutput %h\n%n = Neg(%logits)\noutput %n\n"));
}

}  // namespace
}  // namespace fettle::language
