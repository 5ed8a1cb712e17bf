// Groups of the steps of language models.
#include <gmock/gmock.h>

#include "listed_groups.h"
#include "ops/op.h"

namespace fettle::passes {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

TEST(DecoderGroups, GatedPairs) {
  for (const bool first : {true, false}) {
    const std::string text =
        "input %x: f32[1x32]\nconst %g: f32[32]\nconst %w: u8[8x32]\nconst %s: f32[8x1]\n"
        "%a = RMSNormalization(%x, %g)\n%q = BlockMatMul(%a, %w, %s, %s)\n"
        "%k = BlockMatMul(%a, %w, %s, %s)\n";
    const std::string end = first ? "%t = Swish(%q)\n%y = Mul(%t, %k)\noutput %y\n"
                                  : "%t = Gelu(%k)\n%y = Mul(%q, %t)\noutput %y\n";
    const ir::Graph graph = ParseGraph(text + end);
    const std::string nodes =
        first ? "BlockMatMul BlockMatMul Swish Mul" : "BlockMatMul BlockMatMul Gelu Mul";
    EXPECT_THAT(Listed(graph), Contains("gated: " + nodes));
    EXPECT_THAT(Listed(graph), Contains("gated: RMSNormalization " + nodes));
    ExpectSound(graph);
    // What others read is none, nor is a gate of both.
    EXPECT_THAT(Listed(ParseGraph(text + end + "output %k\n")), Not(Contains(StartsWith("gated"))));
    EXPECT_THAT(Listed(ParseGraph(text + end + "output %t\n")), Not(Contains(StartsWith("gated"))));
    EXPECT_THAT(Listed(ParseGraph(text + "%t = Add(%q, %k)\n%y = Mul(%t, %t)\noutput %y\n")),
                Not(Contains(StartsWith("gated"))));
  }
}

TEST(DecoderGroups, TurnedAttention) {
  const std::string text =
      "input %q: f32[1x1x24]\ninput %k: f32[1x1x8]\ninput %v: f32[1x1x8]\n"
      "const %c: f32[8x2]\nconst %s: f32[8x2]\ninput %p: i64[1] = noise(5, 5)\n"
      "input %pk: f32[1x2x8x4]\ninput %pv: f32[1x2x8x4]\ninput %n: i32[1] = noise(5, 5)\n"
      "const %t: i32[] = 8\n%a = RotaryEmbedding(%q, %c, %s, %p) {num_heads=6}\n"
      "%b = RotaryEmbedding(%k, %c, %s, %p) {num_heads=2}\n%y, %nk, %nv = "
      "GroupQueryAttention(%a, %b, %v, %pk, %pv, %n, %t) {kv_num_heads=2, num_heads=6}\n"
      "output %y\noutput %nk\noutput %nv\n";
  ir::Graph graph = ParseGraph(text);
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  EXPECT_THAT(Listed(graph),
              Contains("turned: RotaryEmbedding RotaryEmbedding GroupQueryAttention"));
  ExpectSound(graph);
  EXPECT_THAT(Listed(ParseGraph(text + "output %a\n")), Not(Contains(StartsWith("turned"))));
}

}  // namespace
}  // namespace fettle::passes
