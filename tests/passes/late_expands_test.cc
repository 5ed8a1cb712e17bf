// Expand before operators that broadcast.
#include "passes/rewrite/late_expands.h"

#include <fmt/format.h>

#include "equivalence.h"

namespace fettle::passes {
namespace {

/// What is left of a gate [1x3x1x1] that is expanded and read by `reader`.
std::string LeftOf(std::string_view extents, std::string_view reader, bool infer = true) {
  return Ops(Rewrite(DropExpandsBeforeBroadcasts,
                     fmt::format("input %x: f32[2x3x4x5]\ninput %g: f32[1x3x1x1]\n"
                                 "input %m: bool[2x3x4x5]\nconst %s: i64[4] = {}\n"
                                 "%e = Expand(%g, %s)\n{}\noutput %y\n",
                                 extents, reader),
                     infer));
}

TEST(LateExpands, ReadersBroadcastThemselves) {
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Mul(%x, %e)"), "Mul");
  EXPECT_EQ(LeftOf("1 3 4 1", "%y = Sub(%e, %x)"), "Sub");
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Where(%m, %e, %x)"), "Where");
  EXPECT_EQ(LeftOf("2 3 4 5", "%a = Max(%e, %x)\n%y = Div(%a, %e)"), "Max Div");
}

TEST(LateExpands, NearMissesStay) {
  // The result's extents come from the Expand; a reader of one operand, one that does not
  // broadcast; unknown shapes.
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Mul(%g, %e)"), "Expand Mul");
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Relu(%e)"), "Expand Relu");
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Concat(%e, %x) {axis=1}"), "Expand Concat");
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Mul(%x, %e)", false), "Expand Mul");
  // Both operands are the same Expand, and one of two readers needs it.
  EXPECT_EQ(LeftOf("2 3 4 5", "%y = Mul(%e, %e)"), "Expand Mul");
  EXPECT_EQ(LeftOf("2 3 4 5", "%a = Mul(%x, %e)\n%y = Add(%a, %e)\noutput %e"), "Expand Mul Add");
}

}  // namespace
}  // namespace fettle::passes
