// Softmax that exporters guard against rows of NaN.
#include "passes/find/safe_softmax.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"

namespace fettle::passes {
namespace {

/// Some rows of %l hold nothing but -infinity.
std::string Guarded(std::string_view rest) {
  return "input %x: f32[2x3x2]\nconst %zero: f32[] = 0\nconst %one: f32[] = 1\n%r = Relu(%x)\n"
         "%l = Log(%r)\n" +
         std::string(rest);
}

TEST(SafeSoftmax, IsOneNode) {
  for (const char* axis : {"-1", "0", "1"}) {
    const ir::Graph graph = Rewrite(
        FindSafeSoftmax, Guarded(fmt::format("%s = Softmax(%l) {{axis={}}}\n%n = IsNaN(%s)\n"
                                             "%y = Where(%n, %zero, %s)\noutput %y\n",
                                             axis)));
    ASSERT_EQ(Ops(graph), "Relu Log Softmax") << axis;
    EXPECT_EQ(graph.node(2).attributes.Int("nan_to_zero"), 1);
  }
}

TEST(SafeSoftmax, AlmostTheSameStays) {
  for (const char* rest : {
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %one, %s)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %s, %zero)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%l)\n%y = Where(%n, %zero, %s)\noutput %y\n",
           "%s = LogSoftmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\noutput %s\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\noutput %n\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%w = Where(%n, %zero, %s)\n%y = Add(%w, %s)\n"
           "output %y\n",
       }) {
    EXPECT_THAT(Ops(Rewrite(FindSafeSoftmax, Guarded(rest))), testing::HasSubstr("Where")) << rest;
  }
  const auto wider = Guarded(
      "const %zeros: f32[2x1x1x1] = 0 0\n%s = Softmax(%l)\n%n = IsNaN(%s)\n"
      "%y = Where(%n, %zeros, %s)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FindSafeSoftmax, wider)), "Relu Log Softmax IsNaN Where");
}

TEST(SafeSoftmax, IsFoundOnce) {
  const ir::Graph graph = Rewrite(
      FindSafeSoftmax,
      Guarded("%s = Softmax(%l) {nan_to_zero=1}\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\n"
              "output %y\n"));
  EXPECT_EQ(Ops(graph), "Relu Log Softmax IsNaN Where");
}

}  // namespace
}  // namespace fettle::passes
