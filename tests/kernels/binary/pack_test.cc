// PackBits behind element-wise operators, in one kernel: every instruction set.
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBinaryPack;

namespace {

/// `outputs`: lines that name those before the bits.
void ExpectPacked(int64_t channels, int64_t groups, bool is_last, std::string_view outputs = "") {
  const std::string x =
      is_last ? fmt::format("3x37x{}", channels) : fmt::format("2x{}x9x6", channels);
  const CaseGroup group = ParseGroup(fmt::format(
      "input %x: f32[{}]\nconst %b: f32[{}]\nconst %two: f32[] = 2.0\n%m = Mul(%x, %two)\n"
      "%a = Add(%m, %b)\n%y = PackBits(%a) {{axis={}, group={}, low=0.0, high=inf}}\n{}output %y\n",
      x, is_last ? fmt::format("{}", channels) : fmt::format("{}x1x1", channels), is_last ? -1 : 1,
      groups, outputs));
  for (int threads : {1, 3}) {
    const CpuDevice& device = TestDevice(3);
    for (std::string_view target : SimdTargets()) {
      ForceSimdTarget(target);
      const auto candidates = CandidatesOf(kCpuBinaryPack, *group.graph, device);
      ASSERT_TRUE(candidates.ok()) << candidates.status().message();
      EXPECT_TRUE(CheckRun({kCpuBinaryPack,
                            group,
                            {group.graph, candidates->front(), threads},
                            {},
                            std::string(target)},
                           device))
          << channels << " channels, " << target;
    }
    ForceSimdTarget("");
  }
}

TEST(BinaryPack, ShiftedSignsAgreeWithTheOracle) {
  for (int64_t channels : {1, 31, 32, 64, 70, 160}) {
    ExpectPacked(channels, 1, false);
    ExpectPacked(channels, 1, true);
  }
  ExpectPacked(96, 2, false);
}

TEST(BinaryPack, ValuesBesideTheirShiftedSignsAgreeWithTheOracle) {
  for (const std::string_view outputs : {"output %m\n", "output %a\n"}) {
    for (int64_t channels : {1, 33, 64, 160}) {
      ExpectPacked(channels, 1, false, outputs);
      ExpectPacked(channels, 1, true, outputs);
    }
    ExpectPacked(96, 2, false, outputs);
  }
}

}  // namespace
}  // namespace fettle::kernels
