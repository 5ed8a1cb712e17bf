#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuMatMulGemm;
extern const KernelDesc kCpuMatMulGemmNwc;

namespace {

constexpr Tolerance kTolerance = {.atol = 5e-5, .rtol = 1e-5};

TEST(MatMul, ConstantAndComputedOperandsOfEveryRank) {
  static constexpr const char* kShapes[][2] = {
      {"1x1", "1x1"},         {"5x7", "7x33"},
      {"1x64", "64x130"},     {"3x300", "300x17"},
      {"29x20", "20x65"},     {"2x3x5x7", "7x9"},
      {"2x3x5x7", "3x7x9"},   {"5x7", "2x3x7x9"},
      {"4x1x6x8", "3x8x5"},   {"7", "7x20"},
      {"6x7", "7"},           {"2x4x9", "9"},
      {"9", "3x9x4"},         {"12x33x16", "12x16x33"},
      {"2x2x600", "2x600x3"}, {"15x20", "20x33"},
      {"16x24", "24x20"},     {"31x9", "9x5"},
      {"50x16", "16x48"},     {"3x13x18", "18x40"},
      {"5x27x16", "5x16x27"}, {"2x3x49x32", "2x3x32x49"},
      {"3x70x40", "3x40x37"}, {"230x24", "24x33"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const auto& shapes : kShapes) {
      for (const char* kind : {"const", "input"}) {
        CheckKernel(kCpuMatMulGemm,
                    fmt::format("input %a: f32[{}]\n{} %b: f32[{}]\n%y = MatMul(%a, %b)\n"
                                "output %y\n",
                                shapes[0], kind, shapes[1]),
                    kTolerance);
      }
    }
  }
  ForceSimdTarget("");
}

TEST(MatMul, ListsOfSmallMatrices) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const KernelDesc* kernel : {&kCpuMatMulGemm, &kCpuMatMulGemmNwc}) {
      CheckKernel(*kernel,
                  "input %a: f32[1x27x19]\ninput %b: f32[4x19x24]\n%c = MatMul(%a, %b)\n"
                  "%y = Relu(%c)\noutput %y\n",
                  kTolerance);
      CheckKernel(*kernel,
                  "input %a: f32[5x7x1]\ninput %b: f32[5x1x3]\n%y = MatMul(%a, %b)\n"
                  "output %y\n",
                  kTolerance);
    }
  }
  ForceSimdTarget("");
}

TEST(MatMul, GemmWithTransposesScalesAndAddends) {
  static constexpr const char* kAddends[] = {"", "33", "1x33", "29x33", "29x1", "1"};
  for (int flags = 0; flags < 8; ++flags) {
    const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0, constant = (flags & 4) != 0;
    for (const std::string_view addend : kAddends) {
      std::string text = fmt::format("input %a: f32[{}]\n{} %b: f32[{}]\n", ta ? "20x29" : "29x20",
                                     constant ? "const" : "input", tb ? "33x20" : "20x33");
      const bool row = addend == "33" || addend == "1";
      if (!addend.empty()) {
        text += fmt::format("{} %c: f32[{}]\n", row && constant ? "const" : "input", addend);
      }
      text += fmt::format("%y = Gemm(%a, %b{}) {{alpha=0.5, beta=2.0, transA={}, transB={}}}\n",
                          addend.empty() ? "" : ", %c", ta ? 1 : 0, tb ? 1 : 0);
      CheckKernel(kCpuMatMulGemm, text + "%z = Relu(%y)\noutput %z\n", kTolerance);
    }
  }
}

TEST(MatMul, FinishesElementWiseChains) {
  CheckKernel(kCpuMatMulGemm,
              "input %a: f32[2x19x64]\nconst %b: f32[64x40]\nconst %c: f32[40]\n"
              "%m = MatMul(%a, %b)\n%s = Add(%m, %c)\n%y = Gelu(%s)\noutput %y\n",
              kTolerance);
  CheckKernel(kCpuMatMulGemm,
              "input %a: f32[2x3x9x8]\ninput %b: f32[2x3x8x9]\ninput %c: f32[2x1x1x9]\n"
              "%m = MatMul(%a, %b)\n%y = Add(%m, %c)\noutput %y\n",
              kTolerance);
}

/// Which operands have their rows innermost, in the order A B Y, for each candidate.
std::string RowsInnermost(std::string_view text) {
  const CpuDevice& device = TestDevice(1);
  const CaseGroup group = ParseGroup(text);
  const auto candidates = CandidatesOf(kCpuMatMulGemmNwc, *group.graph, device).value();
  std::string all;
  for (const StateAssignment& one : candidates) {
    for (const auto* states : {&one.inputs, &one.outputs}) {
      for (const State& state : *states) all += state.layout.IsRowMajor() ? '-' : 't';
    }
    all += ' ';
  }
  return all;
}

TEST(MatMul, ListsWithRowsInnermost) {
  EXPECT_EQ(
      RowsInnermost("input %a: f32[3x5x7]\ninput %b: f32[3x7x9]\n%y = MatMul(%a, %b)\noutput %y\n"),
      "t-- -t- tt- --t t-t -tt ttt ");
  EXPECT_EQ(
      RowsInnermost("input %a: f32[3x5x7]\nconst %b: f32[7x9]\n%y = MatMul(%a, %b)\noutput %y\n"),
      "t- -t tt ");
}

TEST(MatMul, RowsAndPanelsThatOutgrowTheCaches) {
  CheckKernel(kCpuMatMulGemm,
              "input %a: f32[226x590]\nconst %b: f32[590x445]\n%y = MatMul(%a, %b)\noutput %y\n",
              {.atol = 1e-4, .rtol = 1e-5});
}

TEST(MatMul, RefusesIntegers) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const CaseGroup integers =
      ParseGroup("input %a: i32[2x2]\nconst %b: i32[2x2]\n%y = MatMul(%a, %b)\noutput %y\n");
  EXPECT_FALSE(CandidatesOf(kCpuMatMulGemm, *integers.graph, device).ok());
}

}  // namespace
}  // namespace fettle::kernels
