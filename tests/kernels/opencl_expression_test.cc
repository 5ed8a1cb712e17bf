// Which element-wise groups share a program on OpenCL devices.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/states.h"
#include "tests/kernels/case_groups.h"

namespace fettle::kernels {
namespace {

/// A sum of quantised tensors of 2x5x7, or of 3x4x9, with these parameters.
std::string TextOf(float scale, int zero, std::string_view shape = "2x5x7") {
  const std::string graph = fmt::format(
      "input %a: u8[{0}]\ninput %b: u8[{0}]\nconst %s: f32[] = {1}\nconst %z: u8[] = {2}\n"
      "%x = DequantizeLinear(%a, %s, %z)\n%y = DequantizeLinear(%b, %s, %z)\n%sum = Add(%x, %y)\n"
      "%q = QuantizeLinear(%sum, %s, %z)\noutput %q\n",
      shape, scale, zero);
  const CaseGroup group = ParseGroup(graph);
  const StateAssignment states = StatesBeside(*group.graph, RowStates().front());
  return Expression::Compile(*group.graph, states).value().text();
}

TEST(OpenClExpression, IsOneProgramForAllNumbersAndShapes) {
  EXPECT_EQ(TextOf(0.02F, 121), TextOf(0.5F, 7));
  EXPECT_EQ(TextOf(0.02F, 121), TextOf(0.02F, 121, "3x4x9"));
}

TEST(OpenClExpression, LeavesWhatCompilersDropInTheText) {
  EXPECT_NE(TextOf(0.02F, 121), TextOf(0.02F, 0));
  EXPECT_EQ(TextOf(0.02F, 0), TextOf(0.5F, 0));
}

}  // namespace
}  // namespace fettle::kernels
