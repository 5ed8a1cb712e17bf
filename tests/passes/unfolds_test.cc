// Unfolds and folds of windows side by side as moves, and moves that cancel.
#include "passes/rewrite/unfolds.h"

#include "equivalence.h"

namespace fettle::passes {
namespace {

std::string Indexed(std::string_view shape, std::string_view indices, int axis) {
  return fmt::format(
      "input %x: f32[{}]\nconst %i: i64[{}\n%y = Gather(%x, %i) {{axis={}}}\noutput %y\n", shape,
      indices, axis);
}

TEST(UnfoldsToTransposes, IndicesThatCountARangeOut) {
  // Windows of two, of three in three axes, in the order of the data, of a part, from behind.
  for (const auto& [text, ops] :
       {std::pair(Indexed("2x6x3", "2x3] = 0 2 4 1 3 5", 1), "Reshape Transpose"),
        {Indexed("8x2", "2x2x2] = 0 4 2 6 1 5 3 7", 0), "Reshape Transpose"},
        {Indexed("2x3x8", "2x1x3] = 1 3 5 2 4 6", -1), "Slice Reshape Transpose"},
        {Indexed("2x6", "3x2] = 0 1 2 3 4 5", 1), "Reshape"},
        {Indexed("2x6", "2x3] = -6 -4 -2 -5 -3 -1", 1), "Reshape Transpose"}}) {
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text)), ops) << text;
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text, false)), "Gather");
  }
  // Windows that overlap, an element left out, two in turn, backwards, one axis.
  for (const std::string& text :
       {Indexed("2x6", "2x5] = 0 1 2 3 4 1 2 3 4 5", 1), Indexed("2x6", "2x2] = 0 3 1 4", 1),
        Indexed("2x4", "2x2] = 0 2 3 1", 1), Indexed("2x4", "2x2] = 3 1 2 0", 1),
        Indexed("2x6", "6] = 0 2 4 1 3 5", 1)})
    EXPECT_EQ(Ops(Rewrite(UnfoldsToTransposes, text)), "Gather") << text;
}

TEST(UnfoldsToTransposes, WindowsThatFillAPicture) {
  constexpr std::string_view kFold =
      "input %x: f32[2x18x{}]\nconst %s: i64[2] = {}\nconst %b: i64[2] = 2 3\n"
      "%y = Col2Im(%x, %s, %b) {{{}}}\noutput %y\n";
  const auto ops = [&](int columns, std::string_view image, std::string_view attributes) {
    return Ops(Rewrite(UnfoldsToTransposes, fmt::format(kFold, columns, image, attributes)));
  };
  EXPECT_EQ(ops(6, "4 9", "strides=[2,3]"), "Reshape Transpose Reshape");
  EXPECT_EQ(ops(6, "5 9", "strides=[2,3]"), "Col2Im");  // a row that no window meets
  EXPECT_EQ(ops(12, "4 13", "strides=[2,2], dilations=[1,1]"), "Col2Im");  // overlapping
  EXPECT_EQ(ops(6, "2 7", "strides=[2,3], pads=[1,1,1,1]"), "Col2Im");
  EXPECT_EQ(ops(2, "4 5", "strides=[2,3], dilations=[1,2]"), "Col2Im");
}

TEST(CancelMoves, OrdersThatComeBack) {
  const auto moves = [](std::string_view last) {
    return fmt::format(
        "input %x: f32[2x12x6]\nconst %a: i64[5] = 2 4 3 3 2\nconst %b: i64[3] = 2 6 12\n"
        "const %c: i64[5] = 2 3 2 4 3\n%r = Reshape(%x, %a)\n%t = Transpose(%r) "
        "{{perm=[0,2,4,1,3]}}\n%s = Reshape(%t, %b)\n%u = Reshape(%s, %c)\n"
        "%v = Transpose(%u) {{perm={}}}\n%y = Relu(%v)\noutput %y\noutput %s\n",
        last);
  };
  // Back in order, and in another one.
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,4,2]"))),
            "Reshape Transpose Reshape Reshape Relu");
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,2,4]"))),
            "Reshape Transpose Reshape Reshape Transpose Relu");
  EXPECT_EQ(Ops(Rewrite(CancelMoves, moves("[0,3,1,4,2]"), false)),
            "Reshape Transpose Reshape Reshape Transpose Relu");
}

}  // namespace
}  // namespace fettle::passes
