#include <fmt/format.h>

#include <string>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvDotNhwc;
extern const KernelDesc kCpuConvGemmNhwc;
extern const KernelDesc kCpuConvGroupedNhwc;
extern const KernelDesc kCpuConvLinesNhwc;
extern const KernelDesc kCpuConvStripsRow;

namespace {

/// A convolution of x[n, ic, spatial...] with `attributes`, weights w and an optional tail.
std::string ConvText(std::string_view x, std::string_view w, std::string_view attributes,
                     bool bias = true, std::string_view tail = "") {
  const std::string_view oc = w.substr(0, w.find('x'));
  std::string text = fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\n", x, w);
  if (bias) text += fmt::format("const %b: f32[{}]\n", oc);
  text += fmt::format("%c = Conv(%x, %w{}) {{{}}}\n", bias ? ", %b" : "", attributes);
  return text + (tail.empty() ? "output %c\n" : std::string(tail) + "output %y\n");
}

const std::vector<std::string>& ConvTexts() {
  static const std::vector<std::string> texts = {
      ConvText("1x1x1x1", "1x1x1x1", "", false),
      ConvText("1x16x7x9", "24x16x1x1", ""),
      ConvText("2x5x11x13", "7x5x3x3", "pads=[1,1,1,1]", false),
      ConvText("1x3x23x29", "16x3x3x3", "pads=[1,1,1,1], strides=[2,2]"),
      ConvText("2x3x31x17", "33x3x7x7", "pads=[3,3,3,3], strides=[2,2]"),
      ConvText("1x1x8x5", "3x1x3x9", "pads=[1,4,1,4]"),
      ConvText("1x20x9x11", "40x20x3x3", "pads=[2,2,2,2], dilations=[2,2]"),
      ConvText("1x4x9x11", "5x4x3x3", "pads=[0,3,2,1], dilations=[1,2]"),
      ConvText("1x64x7x7", "65x64x3x3", "pads=[1,1,1,1], strides=[2,2]"),
      ConvText("1x24x6x6", "36x8x3x3", "pads=[1,1,1,1], group=3"),
      ConvText("1x32x5x5", "64x1x3x3", "pads=[1,1,1,1], group=32"),
      ConvText("1x8x5x6", "8x4x1x1", "group=2"),
      // Lines of several whole tiles of rows.
      ConvText("1x5x4x75", "16x5x3x3", "pads=[1,1,1,1]"),
      ConvText("2x17x3x66", "12x17x3x3", "pads=[1,0,1,0]", false),
      ConvText("2x16x9x13", "40x16x1x1", ""),
      ConvText("2x6x19", "9x6x5", "pads=[2,2], strides=[2]"),
      ConvText("1x3x5x6x7", "8x3x3x3x3", "pads=[1,1,1,1,1,1]"),
      ConvText("1x18x4x6x5", "8x18x3x1x3", "pads=[1,0,1,1,0,1], strides=[2,1,2]"),
      ConvText("1x300x3x3", "70x300x3x3", "pads=[1,1,1,1]"),
      ConvText("1x1024x3x5", "33x1024x1x1", ""),
      ConvText("1x8x12x12", "16x8x3x3", "pads=[1,1,1,1]", true, "%y = Relu(%c)\n"),
      ConvText("1x8x12x12", "16x8x3x3", "pads=[1,1,1,1]", true,
               "const %lo: f32[] = -0.25\nconst %hi: f32[] = 0.5\n%y = Clip(%c, %lo, %hi)\n"),
  };
  return texts;
}

TEST(ConvGemm, AgreesWithTheOracleOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const std::string& text : ConvTexts()) {
      SCOPED_TRACE(target);
      CheckKernel(kCpuConvGemmNhwc, text, {.atol = 5e-5, .rtol = 1e-5});
    }
  }
  ForceSimdTarget("");
}

TEST(ConvGemm, FinishesElementWiseChains) {
  static constexpr const char* kTails[] = {
      "%s = Sigmoid(%c)\n%y = Mul(%c, %s)\n",
      "input %r: f32[1x33x9x11]\n%a = Add(%c, %r)\n%y = Relu(%a)\n",
      "const %k: f32[33x1x1]\n%m = Mul(%c, %k)\n%y = HardSwish(%m)\n",
      "input %r: f32[1x33x1x1]\n%y = Mul(%c, %r)\n",
      "const %k: f32[33x1x1]\n%y = PRelu(%c, %k)\n",
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const char* tail : kTails) {
      SCOPED_TRACE(tail);
      CheckKernel(kCpuConvGemmNhwc,
                  ConvText("1x20x9x11", "33x20x3x3", "pads=[1,1,1,1]", true, tail),
                  {.atol = 5e-5, .rtol = 1e-5});
      CheckKernel(kCpuConvGemmNhwc, ConvText("1x22x9x11", "33x2x1x1", "group=11", true, tail),
                  {.atol = 5e-5, .rtol = 1e-5});
    }
  }
  ForceSimdTarget("");
}

TEST(ConvDot, AgreesWithTheOracleOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (int oc = 1; oc <= 4; ++oc) {
      for (const char* tail : {"", "%y = Relu(%c)\n", "%y = Tanh(%c)\n"}) {
        CheckKernel(
            kCpuConvDotNhwc,
            ConvText("1x33x9x29", fmt::format("{}x33x3x3", oc), "pads=[1,1,1,1]", oc != 2, tail),
            {.atol = 5e-5, .rtol = 1e-5});
        CheckKernel(kCpuConvDotNhwc,
                    ConvText("2x3x19x17", fmt::format("{}x3x5x5", oc),
                             "pads=[2,2,2,2], strides=[2,2]", true, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(ConvGemm, PacksComputedWeightsAtLaunch) {
  for (const char* text :
       {"input %x: f32[1x6x7x7]\ninput %w: f32[35x6x3x3]\ninput %b: f32[35]\n"
        "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n",
        "input %x: f32[1x8x7x7]\ninput %w: f32[34x4x3x3]\n"
        "%y = Conv(%x, %w) {group=2}\noutput %y\n",
        "input %x: f32[1x1x7x7]\ninput %w: f32[3x1x1x1]\n%y = Conv(%x, %w)\noutput %y\n"}) {
    CheckKernel(kCpuConvGemmNhwc, text, {.atol = 5e-5, .rtol = 1e-5});
  }
}

TEST(ConvGemm, RefusesWhatItCannotDo) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const CaseGroup f64 =
      ParseGroup("input %x: f64[1x2x3x3]\nconst %w: f64[2x2x1x1]\n%y = Conv(%x, %w)\noutput %y\n");
  EXPECT_FALSE(CandidatesOf(kCpuConvGemmNhwc, *f64.graph, device).ok());
}

TEST(ConvGemm, TakesHalfPrecisionValuesInFloatStorage) {
  CheckKernel(kCpuConvGemmNhwc,
              "input %x: f16[1x8x5x5]\nconst %w: f16[8x8x3x3]\nconst %b: f16[8]\n"
              "%y = Conv(%x, %w, %b)\noutput %y\n",
              {.atol = 1e-2, .rtol = 2e-3});
}

// Groups of every width that some instruction set takes: parts of its vectors, and whole vectors.
TEST(ConvGrouped, AgreesWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *attributes;
  };
  static constexpr Row kRows[] = {
      {"1x32x9x11", "32x4x3x3", "pads=[1,1,1,1], group=8"},
      {"2x24x8x7", "24x4x3x3", "pads=[1,1,1,1], strides=[2,2], group=6"},
      {"1x40x15x16", "40x8x3x3", "pads=[1,1,1,1], group=5"},
      {"1x24x6x30", "24x8x3x3", "pads=[1,1,1,1], strides=[2,2], group=3"},
      {"1x10x5x6", "10x2x3x3", "pads=[1,1,1,1], group=5"},
      {"1x32x7x29", "32x16x3x3", "pads=[1,1,1,1], group=2"},
      {"2x64x7x7", "64x32x3x3", "pads=[1,1,1,1], group=2"},
      {"1x12x5x9", "32x6x3x3", "pads=[1,1,1,1], group=2"},
      {"1x64x14x14", "64x16x3x3", "pads=[1,1,1,1], strides=[2,2], group=4"},
      {"1x8x1x1", "8x4x3x3", "pads=[1,1,1,1], group=2"},
      {"1x8x9x4", "8x4x3x3", "group=2"},
      {"1x8x3x5", "8x4x5x3", "pads=[4,2,4,2], strides=[3,1], group=2"},
      {"1x16x2x43", "16x4x1x3", "pads=[0,1,0,1], group=4"},
      {"1x16x21", "16x4x3", "pads=[1,1], group=4"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      for (const char* tail : {"", "%y = Relu(%c)\n", "%y = Sigmoid(%c)\n"}) {
        CheckKernel(kCpuConvGroupedNhwc, ConvText(row.x, row.w, row.attributes, true, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(ConvGrouped, RefusesWhatWouldLeaveLanesEmpty) {
  if (SimdTargets().front() == "SCALAR") GTEST_SKIP() << "one lane is never empty";
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  for (const std::string& text :
       {ConvText("1x9x8x8", "9x3x3x3", "group=3"), ConvText("1x8x8x8", "8x8x3x3", "group=1"),
        ConvText("1x8x8x8", "8x1x3x3", "group=8"),
        ConvText("1x8x8x8", "8x4x3x3", "dilations=[2,2], group=2")}) {
    const CaseGroup group = ParseGroup(text);
    EXPECT_FALSE(CandidatesOf(kCpuConvGroupedNhwc, *group.graph, device).ok()) << text;
  }
}

TEST(ConvGrouped, LeavesWaitingSumsToProductsWhereRegistersAreFew) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const auto is_first = [&](const char* x, const char* w) {
    const CaseGroup group = ParseGroup(ConvText(x, w, "pads=[1,1,1,1], group=2"));
    return MatchGroup(kCpuConvGroupedNhwc, group.graph, device).value()->taste() >
           MatchGroup(kCpuConvGemmNhwc, group.graph, device).value()->taste();
  };
  for (const std::string_view target : SimdTargets()) {
    SCOPED_TRACE(target);
    ForceSimdTarget(target);
    const bool is_avx2 = target == "AVX2";
    EXPECT_EQ(is_first("1x32x14x14", "32x16x3x3"), !is_avx2);
    EXPECT_EQ(is_first("1x224x3x9", "224x112x3x3"), !is_avx2);
    EXPECT_TRUE(is_first("1x32x28x28", "32x16x3x3"));
  }
  ForceSimdTarget("");
}

TEST(ConvStrips, AgreesWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *attributes;
  };
  static constexpr Row kRows[] = {
      {"1x3x33x35", "32x3x3x3", "pads=[1,1,1,1], strides=[2,2]"},
      {"2x3x31x17", "33x3x7x7", "pads=[3,3,3,3], strides=[2,2]"},
      {"1x1x20x19", "16x1x5x5", "pads=[2,2,2,2]"},
      {"1x4x9x64", "24x4x3x3", "pads=[0,1,1,0], strides=[1,2]"},
      {"1x2x5x3", "17x2x3x7", "pads=[1,6,1,6]"},
      {"1x3x1x1", "16x3x3x3", "pads=[1,1,1,1]"},
      {"1x3x12x12", "16x3x7x3", "strides=[5,1]"},
      {"1x3x4x30", "48x3x1x5", "strides=[2,2]"},
      {"1x3x9x101", "24x3x3x3", "pads=[1,1,1,1], strides=[2,2]"},
      {"2x3x12x70", "20x3x7x7", "pads=[3,3,3,3]"},
      {"1x3x7x40", "70x3x3x3", "pads=[1,1,1,1]"},
      {"1x2x6x5", "32x2x5x5", "pads=[2,2,2,2]"},
      {"1x1x19x40", "16x1x8x8", "pads=[3,3,4,4]"},
      {"1x2x23x31", "20x2x11x10", "pads=[5,0,5,9], strides=[2,2]"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      for (const char* tail : {"", "%y = Relu(%c)\n", "%y = HardSwish(%c)\n"}) {
        CheckKernel(kCpuConvStripsRow, ConvText(row.x, row.w, row.attributes, true, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(ConvLines, AgreesWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *attributes;
  };
  constexpr Row kRows[] = {
      {"1x1x9x40", "16x1x8x8", "pads=[3,3,4,4]"},
      {"2x16x12x20", "12x16x6x6", "pads=[2,2,3,3]"},
      {"1x12x12x10", "16x12x4x4", "pads=[1,1,2,2]"},
      {"1x5x13x29", "40x5x3x3", "pads=[1,1,1,1], strides=[2,2]"},
      {"1x3x7x200", "9x3x2x5", "pads=[0,2,1,2], dilations=[2,1]"},
      {"1x4x3x9", "8x4x3x3", "pads=[4,1,4,1]"},
      {"1x2x4x5", "3x2x3x7", "pads=[1,6,1,6]"},
      {"1x4x1x1", "5x4x2x2", "pads=[1,1,0,0]"},
      {"2x6x190", "9x6x5", "pads=[2,2], strides=[2]"},
      {"1x40x9x15", "7x40x3x3", "pads=[1,1,1,1]"},
      {"1x3x6x1000", "4x3x1x3", "pads=[0,1,0,1]"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      for (const char* tail : {"", "%y = Relu(%c)\n", "%y = HardSwish(%c)\n"}) {
        CheckKernel(kCpuConvLinesNhwc, ConvText(row.x, row.w, row.attributes, true, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
