// Resize to twice the width, whose rows are not read by way of a table, and what almost is that;
// and pictures that are spread whole beside those that are spread row by row.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuResizeSeparable;

namespace {

/// In the states of every candidate.
void CheckResize(std::string_view type, std::string_view shape, std::string_view scales,
                 std::string_view how) {
  const std::string text = fmt::format(
      "input %x: {}[{}]\nconst %scales: f32[4] = {}\n"
      "%y = Resize(%x, _, %scales) {{{}}}\noutput %y\n",
      type, shape, scales, how);
  SCOPED_TRACE(text);
  const CaseGroup group = ParseGroup(text);
  const auto match = MatchGroup(kCpuResizeSeparable, group.graph, TestDevice(3));
  ASSERT_TRUE(match.ok()) << match.status().message();
  for (const StateAssignment& states : (*match)->states()) {
    EXPECT_TRUE(
        CheckRun({kCpuResizeSeparable, group, {group.graph, states, 3}, {}, ""}, TestDevice(3)));
  }
}

TEST(Doubled, RowsOfAllWidths) {
  for (const std::string_view type : {"f32", "f16", "bf16"}) {
    for (const int width : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 69}) {
      for (const std::string_view how :
           {"mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
            "nearest_mode=\"floor\"",
            "mode=\"nearest\", coordinate_transformation_mode=\"half_pixel\"",
            "mode=\"nearest\", coordinate_transformation_mode=\"align_corners\""}) {
        CheckResize(type, fmt::format("2x3x5x{}", width), "1 1 2 2", how);
      }
    }
  }
}

TEST(Doubled, OtherScales) {
  constexpr std::string_view kFloor =
      "mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\"";
  for (const std::string_view scales :
       {"1 1 1 2", "1 1 3 2", "1 1 0.5 2", "1 1 2 3", "1 2 1 2", "2 1 1 2"}) {
    for (const std::string_view type : {"f32", "f16"})
      CheckResize(type, "1x2x6x21", scales, kFloor);
  }
}

TEST(Spread, NarrowAndWidePictures) {
  for (const std::string_view mode : {"nearest", "linear", "cubic"}) {
    for (const std::string_view shape : {"2x3x5x9", "1x2x20x50", "3x1x4x210"}) {
      for (const std::string_view scales : {"1 1 1.6 1.3", "1 1 0.7 0.4", "1 1 2 2", "1 1 1 1.2"}) {
        for (const std::string_view type : {"f32", "f16", "u8"})
          CheckResize(type, shape, scales, fmt::format("mode=\"{}\"", mode));
      }
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
