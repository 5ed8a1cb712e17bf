// Texts of OpenCL programs: their defaults, and which groups share one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/opencl_backend.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/opencl/mma_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvMma;
namespace {

/// The number behind "#define NAME" after "#ifndef NAME"; nullopt: there is no such default.
std::optional<int64_t> DefaultIn(std::string_view text, std::string_view macro) {
  const std::string begin = fmt::format("#ifndef {0}\n#define {0} ", macro);
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  return std::stoll(std::string(text.substr(at + begin.size(), 12)));
}

TEST(Fields, DefaultsOfOpenClSourcesAreListedValues) {
  int macros = 0;
  for (const auto table : {OpenClKernels()}) {
    for (const KernelDesc* kernel : table) {
      if (kernel->parameters == nullptr) continue;
      for (const ParamInfo& info : kernel->parameters()) {
        if (info.macro.empty()) continue;
        ++macros;
        const std::optional<int64_t> value = DefaultIn(KernelText(info.source), info.macro);
        ASSERT_TRUE(value.has_value()) << kernel->name << ": " << info.source << " has no default "
                                       << "of " << info.macro;
        EXPECT_NE(std::find(info.values.begin(), info.values.end(), *value), info.values.end())
            << kernel->name << ": " << info.macro << " is " << *value << " in " << info.source;
      }
    }
  }
  EXPECT_GT(macros, 20);
}

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

/// Of one tap they share a program, where channels fill the tiles of k alike.
TEST_F(OpenClMma, ConvolutionsOfOtherChannelsShareAProgram) {
  const auto built_for = [&](int channels, int side) {
    const int64_t before = device_->program_statistics().built;
    Check(kOpenClConvMma,
          fmt::format("input %x: f32[1x{0}x6x11]\nconst %w: f32[24x{0}x{1}x{1}]\n"
                      "%y = Conv(%x, %w)\noutput %y\n",
                      channels, side),
          {{"BM", 32}});
    return device_->program_statistics().built - before;
  };
  EXPECT_GT(built_for(64, 1), 0);
  EXPECT_EQ(built_for(96, 1), 0);
  EXPECT_EQ(built_for(320, 1), 0);
  EXPECT_GT(built_for(40, 1), 0);
  EXPECT_EQ(built_for(72, 1), 0);
  EXPECT_GT(built_for(64, 2), 0);
  EXPECT_GT(built_for(96, 2), 0);
}

}  // namespace
}  // namespace fettle::kernels
