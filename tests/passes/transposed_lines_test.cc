// Transposed convolutions of lines as convolutions to all phases.
#include "passes/conv/transposed_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"

namespace fettle::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(int64_t extent, int64_t channels, int64_t taps, const std::string& attributes,
                 bool bias = true) {
  return fmt::format(
      "input %x: f32[2x5x{0}]\nconst %w: f32[5x{1}x{2}]\n{4}"
      "%y = ConvTranspose(%x, %w{5}) {{{3}}}\noutput %y\n",
      extent, channels, taps, attributes, bias ? fmt::format("const %b: f32[{}]\n", channels) : "",
      bias ? ", %b" : "");
}

TEST(SpellTransposedLines, KeepsWhatFewChannelsCompute) {
  for (const auto& [extent, channels, taps, attributes] :
       {std::tuple(7, 1, 4, "strides=[4]"),
        {7, 1, 16, "strides=[8]"},
        {9, 2, 9, "strides=[4], pads=[2,1]"},
        {9, 1, 4, "strides=[2], pads=[1,1]"},
        {1, 1, 8, "strides=[4], pads=[1,3]"},
        {5, 1, 3, "strides=[7]"},
        {6, 3, 10, "strides=[5], pads=[0,3], output_padding=[2]"},
        {6, 1, 8, "strides=[4], output_padding=[3]"},
        {6, 1, 9, "strides=[3], auto_pad=\"SAME_UPPER\""}}) {
    const ir::Graph graph = Rewrite(SpellTransposedLines, Text(extent, channels, taps, attributes));
    EXPECT_THAT(Ops(graph), Not(HasSubstr("ConvTranspose"))) << attributes;
    EXPECT_THAT(Ops(graph), HasSubstr("Conv")) << attributes;
  }
  const ir::Graph graph = Rewrite(SpellTransposedLines, Text(7, 1, 4, "strides=[4]", false));
  EXPECT_THAT(Ops(graph), Not(HasSubstr("ConvTranspose")));
}

TEST(SpellTransposedLines, LeavesWhatGainsNothingOrIsNoLine) {
  for (const std::string& text : {
           Text(7, 16, 4, "strides=[2]"),  // phases of whole vectors
           Text(7, 1, 3, "strides=[1]"),   // one phase
           Text(7, 1, 4, "strides=[4], dilations=[2]"),
           Text(7, 1, 4, "strides=[4], pads=[8,0]"),  // rows that no tap of the first phase meets
           std::string("input %x: f32[1x4x7]\nconst %w: f32[4x1x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4], group=2}\noutput %y\n"),
           std::string("input %x: f32[1x4x7]\ninput %w: f32[4x1x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4]}\noutput %y\n"),
           std::string("input %x: f32[1x4x7x7]\nconst %w: f32[4x1x4x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4,4]}\noutput %y\n"),
       }) {
    EXPECT_THAT(Ops(Rewrite(SpellTransposedLines, text)), HasSubstr("ConvTranspose")) << text;
  }
}

}  // namespace
}  // namespace fettle::passes
