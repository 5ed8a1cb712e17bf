// Attention and rotary embedding as the nodes that they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "ops/cases.h"
#include "passes/edit/editor.h"
#include "passes/rewrite/spell_attention.h"
#include "passes/rewrite/spell_rotary.h"

namespace fettle::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SpellAttention, KeepsWhatEveryCaseComputes) {
  int spelled = 0;
  for (const ops::Case& attention : ops::AllCases()) {
    SCOPED_TRACE(attention.name);
    const std::string text(attention.graph);
    if (attention.bench || !attention.name.starts_with("attention.") ||
        text.find("= Attention(") == std::string::npos)
      continue;
    const ir::Graph graph = Rewrite(SpellAttention, text);
    spelled += HasOp(graph, {"Softmax"_op}) ? 1 : 0;
  }
  // All but those with scores as an output.
  EXPECT_EQ(spelled, 5);
}

TEST(SpellRotary, KeepsWhatEveryCaseComputes) {
  int spelled = 0;
  for (const ops::Case& rotary : ops::AllCases()) {
    const std::string text(rotary.graph);
    if (rotary.bench || text.find("= RotaryEmbedding(") == std::string::npos) continue;
    SCOPED_TRACE(rotary.name);
    const ir::Graph graph = Rewrite(SpellRotary, text);
    spelled += HasOp(graph, {"RotaryEmbedding"_op}) ? 0 : 1;
  }
  // All but the one that is given the position of the first element alone.
  EXPECT_EQ(spelled, 2);
}

TEST(SpellRotary, TurnsPartOfHeadsByPositions) {
  const ir::Graph graph =
      Rewrite(SpellRotary,
              "input %x: f32[2x3x5x8]\nconst %c: f32[11x4]\nconst %s: f32[11x4]\n"
              "input %p: i64[2x5] = noise(0, 10)\n"
              "%y = RotaryEmbedding(%x, %c, %s, %p) {rotary_embedding_dim=6}\noutput %y\n");
  EXPECT_THAT(Ops(graph), Not(HasSubstr("RotaryEmbedding")));
  EXPECT_THAT(Ops(graph), HasSubstr("Gather"));
}

TEST(SpellAttention, IsPlainWithoutOptions) {
  const ir::Graph graph =
      Rewrite(SpellAttention,
              "input %q: f32[1x2x3x4]\ninput %k: f32[1x2x5x4]\ninput %v: f32[1x2x5x6]\n"
              "%y = Attention(%q, %k, %v) {scale=1.0}\noutput %y\n");
  EXPECT_EQ(Ops(graph), "Transpose MatMul Softmax MatMul Identity");
}

TEST(SpellAttention, PresentKeysAreThoseOfThePastAndTheNewOnes) {
  const ir::Graph graph =
      Rewrite(SpellAttention,
              "input %q: f32[1x4x12]\ninput %k: f32[1x4x6]\ninput %v: f32[1x4x6]\n"
              "input %pk: f32[1x2x5x3]\ninput %pv: f32[1x2x5x3]\n"
              "%y, %nk, %nv = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1, kv_num_heads=2, "
              "q_num_heads=4}\noutput %y\noutput %nk\noutput %nv\n");
  EXPECT_THAT(Ops(graph), Not(HasSubstr("Attention")));
  EXPECT_THAT(Ops(graph), HasSubstr("Concat"));
}

/// A query that sees no key gives zeros, however that comes about.
TEST(SpellAttention, QueriesThatSeeNoKey) {
  const std::string operands =
      "input %q: f32[1x2x3x4]\ninput %k: f32[1x2x5x4]\ninput %v: f32[1x2x5x6]\n";
  for (const char* rest : {
           "const %m: bool[3x5] = 1 0 1 0 1 0 0 0 0 0 0 0 0 0 1\n"
           "%y = Attention(%q, %k, %v, %m)\noutput %y\n",
           "const %m: bool[3x5] = 1 0 1 0 1 0 0 0 0 0 0 0 0 0 1\n"
           "%y = Attention(%q, %k, %v, %m) {is_causal=1}\noutput %y\n",
           "input %b: bool[1x1x3x5] = noise(0, 1)\n"
           "%y = Attention(%q, %k, %v, %b) {left_window_size=0, right_window_size=0}\noutput %y\n",
           "const %m: f32[2x1x5] = -inf -inf -inf -inf -inf 0 -inf -3 0 -inf\n"
           "%y = Attention(%q, %k, %v, %m)\noutput %y\n",
           "const %m: f32[1] = -3.4e38\n%y = Attention(%q, %k, %v, %m)\noutput %y\n",
       }) {
    EXPECT_THAT(Ops(Rewrite(SpellAttention, operands + rest)), Not(HasSubstr("Attention"))) << rest;
  }
}

TEST(SpellAttention, MasksOfComMicrosoftAreAddedAsTheyAre) {
  const ir::Graph graph =
      Rewrite(SpellAttention,
              "input %q: f32[2x3x8]\ninput %k: f32[2x5x8]\ninput %v: f32[2x5x8]\n"
              "const %n: i32[2] = 3 2\n%m = AttentionMask(%n, %q, %k)\n"
              "%y = Attention(%q, %k, %v, %m) {kv_num_heads=2, q_num_heads=2}\noutput %y\n");
  EXPECT_THAT(Ops(graph), HasSubstr("AttentionMask"));
  EXPECT_THAT(Ops(graph), Not(HasSubstr("ReduceMax")));
}

/// Of a cache of fixed size the first keys are valid, and queries stand at their end.
TEST(SpellAttention, KeysEndAtComputedLengths) {
  for (const char* attributes :
       {"", "is_causal=1", "left_window_size=2", "is_causal=1, left_window_size=1",
        "right_window_size=1, softcap=3.0"}) {
    for (const char* mask : {"_", "%m"}) {
      for (const char* lengths : {"5 4", "3 5", "1 2"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", attributes, mask, lengths));
        const ir::Graph graph = Rewrite(
            SpellAttention,
            fmt::format("input %q: f32[2x2x3x4]\ninput %k: f32[2x2x5x4]\ninput %v: f32[2x2x5x6]\n"
                        "const %m: f32[3x5]\nconst %n: i64[2] = {}\n"
                        "%y = Attention(%q, %k, %v, {}, _, _, %n) {{{}}}\noutput %y\n",
                        lengths, mask, attributes));
        EXPECT_THAT(Ops(graph), Not(HasSubstr("Attention")));
      }
    }
  }
}

TEST(SpellAttention, StaysWhereSizesAreComputed) {
  for (const char* text : {
           "input %q: f32[1x2x3x4]\ninput %k: f32[1x2x5x4]\ninput %v: f32[1x2x5x6]\n"
           "const %m: bool[3x4] = 1 0 1 0 1 0 0 0 1 0 0 1\n"
           "%y = Attention(%q, %k, %v, %m)\noutput %y\n",
       }) {
    EXPECT_EQ(Ops(Rewrite(SpellAttention, text)), "Attention");
  }
  const ir::Graph unknown =
      Rewrite(SpellAttention,
              "input %x: f32[1x2x3x4]\ninput %k: f32[1x2x5x4]\ninput %v: f32[1x2x5x6]\n"
              "%q = Relu(%x)\n%y = Attention(%q, %k, %v)\noutput %y\n",
              false);
  EXPECT_EQ(Ops(unknown), "Relu Attention");
}

}  // namespace
}  // namespace fettle::passes
