// Scales, shifts and pads that move into weights and attributes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/conv/fold_affine.h"
#include "passes/conv/fold_pads.h"
#include "passes/conv/round_weights.h"
#include "passes/quantise/fold_weights.h"

namespace fettle::passes {
namespace {

constexpr std::string_view kNorm =
    "const %s: f32[6] = 1 2 -1 0.5 1.5 3\nconst %b: f32[6] = 0 1 2 3 4 5\n"
    "const %m: f32[6] = 0.1 0.2 0.3 0.4 0.5 0.6\nconst %v: f32[6] = 1 2 3 0.5 0.25 1\n";

std::string WithNorm(std::string_view body) { return std::string(kNorm) + std::string(body); }

TEST(RoundWeights, ProductsGetTheFormThatWasAskedFor) {
  const std::string text =
      "input %x: f32[1x16x9x9]\nconst %w: f32[32x16x3x3]\nconst %v: f32[32x64]\n"
      "const %few: f32[3x64x1x1]\nconst %e: f32[1x16x9x9]\n"
      "%a = Add(%x, %e)\n%c = Conv(%a, %w)\n%t = Transpose(%c) {perm=[0,2,3,1]}\n"
      "%m = MatMul(%t, %v)\n%b = Transpose(%m) {perm=[0,3,1,2]}\n%y = Conv(%b, %few)\noutput %y\n";
  for (const CompactForm form : {CompactForm::kHalves, CompactForm::kBytes}) {
    ir::Graph graph = ParseGraph(text);
    const RoundedWeights rounded = RoundWeights(graph, form).value();
    EXPECT_EQ(rounded.count, 2);
    EXPECT_GT(rounded.least_db, form == CompactForm::kHalves ? 65 : 35);
    int compact = 0;
    for (const ir::Value& value : graph.values()) {
      if (!value.is_constant()) continue;
      const auto layout = FindCompact(*value.constant);
      if (!layout) continue;
      EXPECT_EQ(layout->form, form);
      if (form == CompactForm::kBytes) {
        EXPECT_EQ(layout->slices, value.name == "w" ? 32 : 64);
      }
      ++compact;
    }
    EXPECT_EQ(compact, 2);
    ExpectSameResults(ParseGraph(text), graph, form == CompactForm::kHalves ? 2e-2 : 1);
    EXPECT_EQ(RoundWeights(graph, form).value().count, 0) << "what is rounded stays";
  }
}

TEST(RoundWeights, NumbersBeyondHalvesStay) {
  ir::Graph graph = ParseGraph(
      "input %x: f32[2x64]\nconst %w: f32[64x64] = noise(60000, 70000)\n%y = MatMul(%x, %w)\n"
      "output %y\n");
  EXPECT_EQ(RoundWeights(graph, CompactForm::kHalves).value().count, 0);
  EXPECT_EQ(RoundWeights(graph, CompactForm::kBytes).value().count, 1);
}

TEST(FoldAffine, ConvolutionsTakeNorms) {
  const auto text = WithNorm(
      "input %x: f32[2x4x5x5]\nconst %w: f32[6x2x3x3]\nconst %c: f32[6]\n"
      "%k = Conv(%x, %w, %c) {group=2, pads=[1,1,1,1]}\n"
      "%y = BatchNormalization(%k, %s, %b, %m, %v) {epsilon=0.001}\noutput %y\n");
  const ir::Graph graph = Rewrite(FoldAffine, text, false);
  EXPECT_EQ(Ops(graph), "Conv");
  EXPECT_EQ(graph.node(0).attributes.Int("group"), 2);
}

TEST(FoldAffine, TransposedConvolutionsWithGroups) {
  const auto text = WithNorm(
      "input %x: f32[1x4x3x3]\nconst %w: f32[4x3x2x2]\n%k = ConvTranspose(%x, %w) {group=2}\n"
      "%y = BatchNormalization(%k, %s, %b, %m, %v)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FoldAffine, text, false)), "ConvTranspose");
}

TEST(FoldAffine, ChainsOfScalesAndShifts) {
  const auto text = WithNorm(
      "input %x: f32[2x4x5x5]\nconst %w: f32[6x4x1x1]\nconst %p: f32[1x6x1x1] = 1 2 3 4 5 6\n"
      "const %q: f32[6x1x1] = -1 2 -3 4 -5 6\nconst %t: f32[] = 0.5\n%k = Conv(%x, %w)\n"
      "%n = BatchNormalization(%k, %s, %b, %m, %v)\n%a = Mul(%n, %p)\n%c = Add(%q, %a)\n"
      "%d = Sub(%t, %c)\n%e = Mul(%d, %t)\n%y = Relu(%e)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FoldAffine, text, false)), "Conv Relu");
}

TEST(FoldAffine, ShiftsLeaveWeightsWhereTheyAre) {
  const ir::Graph before = ParseGraph(
      "input %x: f32[1x1x6x6]\nconst %w: f32[8x1x5x5]\nconst %b: f32[8x1x1]\n%k = Conv(%x, %w)\n"
      "%y = Add(%k, %b)\noutput %y\n");
  ir::Graph after = before;
  ASSERT_TRUE(FoldAffine(after).ok());
  ASSERT_EQ(Ops(after), "Conv");
  EXPECT_EQ(after.value(after.node(0).inputs[1]).constant->bytes().data(),
            before.value(1).constant->bytes().data());
  ExpectSameResults(before, after);
}

TEST(FoldAffine, RepeatedElementsStayRepeated) {
  const ir::Graph graph = Rewrite(
      FoldAffine,
      "input %x: f32[1x3x4x4]\nconst %w: f32[6x3x3x3] = splat 0.5\nconst %s: f32[6] = splat 2\n"
      "const %b: f32[6] = splat 1\nconst %m: f32[6] = splat 0.5\nconst %v: f32[6] = splat 4\n"
      "%k = Conv(%x, %w)\n%y = BatchNormalization(%k, %s, %b, %m, %v)\noutput %y\n");
  ASSERT_EQ(Ops(graph), "Conv");
  EXPECT_TRUE(graph.value(graph.node(0).inputs[1]).constant->is_splat());
}

TEST(FoldAffine, LargeWeightsAreComputedWhenRead) {
  const ir::Graph graph =
      Rewrite(FoldAffine,
              "input %x: f32[1x64x4x4]\nconst %w: f32[64x64x1x1]\nconst %s: f32[64x1x1]\n"
              "%k = Conv(%x, %w)\n%y = Mul(%k, %s)\noutput %y\n");
  const Constant& weights = *graph.value(graph.node(0).inputs[1]).constant;
  ASSERT_NE(weights.source(), nullptr);
  EXPECT_TRUE(weights.bytes().empty());
  EXPECT_EQ(weights.raw_bytes().size(), 64u * 64 * 4);
  const Result<Tensor> whole = weights.ToTensor();
  ASSERT_TRUE(whole.ok());
  // Any range gives the same elements as the whole.
  std::vector<float> part(200);
  weights.CopyTo(61, 200, reinterpret_cast<std::byte*>(part.data()));
  for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole->as<float>()[i + 61]);
  EXPECT_EQ(weights.GetDouble(4095), static_cast<double>(whole->as<float>()[4095]));
  EXPECT_NE(weights.Hash(), Constant::FromTensor(*whole).Hash());
}

TEST(FoldAffine, HalfWeightsStayHalf) {
  const ir::Graph graph =
      Rewrite(FoldAffine,
              "input %x: f16[1x3x4x4]\nconst %w: f16[2x3x1x1]\nconst %s: f16[2x1x1] = 2 3\n"
              "%k = Conv(%x, %w)\n%y = Mul(%k, %s)\noutput %y\n",
              true, 0.02);
  ASSERT_EQ(Ops(graph), "Conv");
  EXPECT_EQ(graph.value(graph.node(0).inputs[1]).dtype, DType::kF16);
}

TEST(FoldAffine, MatrixProducts) {
  const auto gemm = WithNorm(
      "input %x: f32[3x4]\nconst %w: f32[6x4]\nconst %c: f32[1x6]\n"
      "%k = Gemm(%x, %w, %c) {transB=1, alpha=0.5, beta=2.0}\n"
      "%y = BatchNormalization(%k, %s, %b, %m, %v)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FoldAffine, gemm, false)), "Gemm");
  const auto matmul = WithNorm(
      "input %x: f32[3x4]\nconst %w: f32[4x6]\n%k = MatMul(%x, %w)\n"
      "%y = BatchNormalization(%k, %s, %b, %m, %v)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FoldAffine, matmul)), "MatMul Add");
  const auto scaled = WithNorm(
      "input %x: f32[2x3x4]\nconst %w: f32[4x6]\n%k = MatMul(%x, %w)\n%a = Mul(%k, %s)\n"
      "%y = Add(%a, %b)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FoldAffine, scaled)), "MatMul Add");
}

TEST(FoldAffine, WhatItMustLeaveAlone) {
  for (const char* body : {
           // read twice
           "input %x: f32[2x4x5x5]\nconst %w: f32[6x4x1x1]\n%k = Conv(%x, %w)\n"
           "%n = BatchNormalization(%k, %s, %b, %m, %v)\n%y = Add(%n, %k)\noutput %y\n",
           // varies along the width, not the channels
           "input %x: f32[2x4x6x6]\nconst %w: f32[6x4x1x1]\n%k = Conv(%x, %w)\n"
           "%y = Mul(%k, %s)\noutput %y\n",
           // broadcasts the product to another shape
           "input %x: f32[1x4x1x1]\nconst %w: f32[6x4x1x1]\nconst %z: f32[1x1x6x1x1]\n"
           "%k = Conv(%x, %w)\n%y = Mul(%k, %z)\noutput %y\n",
           // a bias alone
           "input %x: f32[3x4]\nconst %w: f32[4x6]\n%k = MatMul(%x, %w)\n%y = Add(%k, %s)\n"
           "output %y\n",
           // weights that are not constant
           "input %x: f32[2x4x5x5]\ninput %w: f32[6x4x1x1]\n%k = Conv(%x, %w)\n"
           "%y = BatchNormalization(%k, %s, %b, %m, %v)\noutput %y\n",
       }) {
    const std::string text = WithNorm(body);
    EXPECT_EQ(Ops(Rewrite(FoldAffine, text)), Ops(ParseGraph(text))) << body;
  }
}

TEST(FoldAffine, OverflowKeepsTheNodes) {
  const char* text =
      "input %x: f16[1x1x2x2]\nconst %w: f16[1x1x1x1] = 60000\nconst %s: f16[] = 2\n"
      "%k = Conv(%x, %w)\n%y = Mul(%k, %s)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(FoldAffine, text)), "Conv Mul");
}

TEST(FoldPads, GoIntoConvolutionsAndAverages) {
  const std::string head =
      "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 0 1 2 0 0 0 1\nconst %w: f32[3x2x3x3]\n"
      "%q = Pad(%x, %p)\n";
  EXPECT_EQ(Ops(Rewrite(FoldPads, head + "%y = Conv(%q, %w) {pads=[1,0,0,1]}\noutput %y\n")),
            "Conv");
  EXPECT_EQ(Ops(Rewrite(FoldPads, head + "%y = Conv(%q, %w) {auto_pad=\"VALID\"}\noutput %y\n")),
            "Conv");
  EXPECT_EQ(
      Ops(Rewrite(FoldPads, head + "%y = AveragePool(%q) {kernel_shape=[3,3], strides=[2,2]}\n"
                                   "output %y\n")),
      "AveragePool");
  EXPECT_EQ(
      Ops(Rewrite(FoldPads, head + "%y = Conv(%q, %w)\n%z = Relu(%q)\noutput %y\noutput %z\n")),
      "Pad Conv Relu");
}

TEST(FoldPads, WhatItMustLeaveAlone) {
  for (const char* text : {
           "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 0 1 1 0 0 1 1\nconst %w: f32[3x2x3x3]\n"
           "%q = Pad(%x, %p)\n%y = Conv(%q, %w) {auto_pad=\"SAME_UPPER\"}\noutput %y\n",
           "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 0 1 1 0 0 1 1\nconst %w: f32[3x2x3x3]\n"
           "%q = Pad(%x, %p) {mode=\"reflect\"}\n%y = Conv(%q, %w)\noutput %y\n",
           "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 1 1 1 0 0 1 1\nconst %w: f32[3x3x3x3]\n"
           "%q = Pad(%x, %p)\n%y = Conv(%q, %w)\noutput %y\n",
           "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 0 1 1 0 0 1 1\nconst %f: f32[] = 1\n"
           "const %w: f32[3x2x3x3]\n%q = Pad(%x, %p, %f)\n%y = Conv(%q, %w)\noutput %y\n",
           "input %x: f32[1x2x6x7]\nconst %p: i64[8] = 0 0 1 1 0 0 1 1\n%q = Pad(%x, %p)\n"
           "%y = AveragePool(%q) {kernel_shape=[3,3], pads=[1,1,1,1]}\noutput %y\n",
       }) {
    EXPECT_EQ(Ops(Rewrite(FoldPads, text)), Ops(ParseGraph(text))) << text;
  }
}

TEST(FoldWeights, ConvolutionsOfFloatsGetFloats) {
  const ir::Graph graph =
      Rewrite(FoldWeights,
              "input %x: f32[1x3x5x5]\nconst %w: i8[4x3x3x3] = noise(-127, 127)\n"
              "const %s: f32[4] = 0.01 0.02 0.03 0.04\nconst %z: i8[4] = 1 -2 3 0\n"
              "%d = DequantizeLinear(%w, %s, %z) {axis=0}\n%y = Conv(%x, %d)\noutput %y\n");
  EXPECT_EQ(Ops(graph), "Conv");
  EXPECT_NE(graph.value(graph.node(0).inputs[1]).constant->source(), nullptr);
}

TEST(FoldWeights, ProductsOfFewRowsKeepBlocksOfFourBits) {
  const std::string_view text =
      "input %x: f32[2x37]\nconst %w: u4[37x5] = noise(0, 15)\nconst %s: f32[3x5]\n"
      "const %z: u4[3x5] = noise(0, 15)\n"
      "%d = DequantizeLinear(%w, %s, %z) {axis=0, block_size=16}\n";
  const auto with = [&](std::string_view tail) { return std::string(text) + std::string(tail); };
  EXPECT_EQ(Ops(Rewrite(FoldWeights, with("%y = MatMul(%x, %d)\noutput %y\n"))),
            "DequantizeLinear MatMul");
  // What no kernel reads as it is.
  EXPECT_EQ(Ops(Rewrite(FoldWeights, with("%y = Gemm(%x, %d) {alpha=2.0}\noutput %y\n"))), "Gemm");
}

TEST(FoldWeights, IntegersThatMeetIntegersStay) {
  const ir::Graph graph =
      Rewrite(FoldWeights,
              "input %q: u8[2x4]\nconst %s: f32[] = 0.5\nconst %w: i8[4x3]\n"
              "%x = DequantizeLinear(%q, %s)\n%d = DequantizeLinear(%w, %s)\n%y = MatMul(%x, %d)\n"
              "output %y\n");
  EXPECT_EQ(Ops(graph), "DequantizeLinear DequantizeLinear MatMul");
}

}  // namespace
}  // namespace fettle::passes
