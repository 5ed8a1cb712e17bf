// Products of rows by weights of 2 bits on the CPU.
#include <fmt/format.h>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuWeightOnlyGemm;

namespace {

constexpr Tolerance kTwoBitSums = {.atol = 2e-4, .rtol = 1e-5};

TEST(WeightOnly, CodesOfTwoBitsTakeAQuarterOfAByte) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const int m : {1, 3, 40}) {
      for (const std::string_view zeros : {"", "2, 2", "0, 3"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", target, m, zeros));
        CheckKernel(
            kCpuWeightOnlyGemm,
            fmt::format("input %x: f32[{}x100]\nconst %w: u4[100x35] = noise(0, 3)\n"
                        "const %s: f32[4x35] = noise(0.05, 0.1)\n{}"
                        "%d = DequantizeLinear(%w, %s{}) {{axis=0, block_size=32, bits=2}}\n"
                        "%y = MatMul(%x, %d)\noutput %y\n",
                        m,
                        zeros.empty() ? "" : fmt::format("const %z: u4[4x35] = noise({})\n", zeros),
                        zeros.empty() ? "" : ", %z"),
            kTwoBitSums);
      }
    }
  }
  ForceSimdTarget("");
  const auto bytes = [](std::string_view bits) {
    const CaseGroup group = ParseGroup(fmt::format(
        "input %x: f32[1x64]\nconst %w: u4[64x64] = noise(0, 3)\nconst %s: f32[64] = noise(1, 2)\n"
        "%d = DequantizeLinear(%w, %s) {{axis=1{}}}\n%y = MatMul(%x, %d)\noutput %y\n",
        bits));
    const CpuDevice device(std::make_shared<ThreadPool>(1));
    const Problem problem{group.graph, RowMajorStates(*group.graph), 1};
    return (*PrepareKernel(kCpuWeightOnlyGemm, problem, {}, device))->packs()[0].bytes;
  };
  EXPECT_EQ(bytes("") - bytes(", bits=2"), 64 * 64 / 4);
}

}  // namespace
}  // namespace fettle::kernels
