// Types that kernels of whole operators do not compute, in steps that kernels do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/rewrite/spell_doubles.h"
#include "passes/rewrite/spell_nearest.h"

namespace fettle::passes {
namespace {

using testing::Not;
using testing::HasSubstr;

std::string Doubles(std::string_view op, std::string_view attributes, std::string_view operands = "",
                    std::string_view constants = "") {
  const std::string text = fmt::format("input %x: f64[2x6x5]\n{}%y = {}(%x{}) {{{}}}\noutput %y\n",
                                       constants, op, operands, attributes);
  return Ops(Rewrite(SpellDoubles, text, true, 1e-12));
}

TEST(SpellDoubles, KeepsWhatOperatorsCompute) {
  for (const char* axis : {"axis=0", "axis=1", "axis=-1", ""}) {
    SCOPED_TRACE(axis);
    EXPECT_EQ(Doubles("Softmax", axis), "ReduceMax Sub Exp ReduceSum Div");
    EXPECT_EQ(Doubles("LogSoftmax", axis), "ReduceMax Sub Exp ReduceSum Log Sub");
  }
  const char* scale = "const %s: f64[6x5]\nconst %b: f64[6x5]\n";
  EXPECT_THAT(Doubles("LayerNormalization", "axis=1", ", %s, %b", scale),
              Not(HasSubstr("LayerNormalization")));
  EXPECT_THAT(Doubles("LayerNormalization", "axis=-2, epsilon=0.1", ", %s", scale),
              Not(HasSubstr("LayerNormalization")));
  const char* channels =
      "const %s: f64[6]\nconst %b: f64[6]\nconst %m: f64[6]\nconst %v: f64[6] = noise(0.5, 2)\n";
  EXPECT_THAT(Doubles("BatchNormalization", "epsilon=0.01", ", %s, %b, %m, %v", channels),
              Not(HasSubstr("BatchNormalization")));
}

TEST(SpellDoubles, FindsWhatIsNoNumber) {
  const char* text =
      "const %c: f64[4] = 1 inf -inf nan\ninput %x: f64[4]\n%z = Add(%c, %x)\n%y = {}(%z) "
      "{{{}}}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(SpellDoubles, fmt::format(fmt::runtime(text), "IsNaN", ""))), "Add Equal Not");
  for (const char* signs : {"", "detect_positive=0", "detect_negative=0"}) {
    EXPECT_THAT(Ops(Rewrite(SpellDoubles, fmt::format(fmt::runtime(text), "IsInf", signs))),
                HasSubstr("Equal"));
  }
}

TEST(SpellNearest, GathersOfEachAxis) {
  const auto spelt = [](std::string_view type, std::string_view attributes) {
    return Ops(Rewrite(SpellNearest,
                       fmt::format("input %x: {}[1x2x5x7]\nconst %s: i64[4] = 1 2 8 21\n"
                                   "%y = Resize(%x, _, _, %s) {{{}}}\noutput %y\n",
                                   type, attributes)));
  };
  for (const char* type : {"i32", "i64", "bool", "f64"}) {
    for (const char* how : {"", "coordinate_transformation_mode=\"asymmetric\", "
                                "nearest_mode=\"floor\"",
                            "coordinate_transformation_mode=\"align_corners\""}) {
      EXPECT_EQ(spelt(type, how), "Gather Gather Identity");
    }
  }
  EXPECT_EQ(spelt("f32", ""), "Resize");
  EXPECT_EQ(spelt("i32", "mode=\"linear\""), "Resize");
}

}  // namespace
}  // namespace fettle::passes
