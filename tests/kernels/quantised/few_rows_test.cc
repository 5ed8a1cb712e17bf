// Products of few rows by bytes that no second-level cache holds.
#include <fmt/format.h>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"
#include "tests/slowed.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedGemm;

namespace {

TEST(QuantisedFewRows, OfWeightsFromMemoryAgreeOnEveryInstructionSet) {
  if (CasesStride() > 1) GTEST_SKIP() << "weights that no cache holds are left to releases";
  constexpr int64_t kDepth = 1101;  // odd
  const int64_t columns = GetCpuInfo().l2_bytes / 2 / kDepth + 19;
  struct Row {
    std::string_view x, x_zero, w, w_zero;
  };
  // Those of the first two are bytes with a sign once their zero points are taken off.
  for (const Row& row :
       {Row{"u8", "200", "i8", "0"}, Row{"i8", "-7", "u8", "128"}, Row{"u8", "3", "i8", "5"}}) {
    for (const int rows : {1, 4, 6}) {
      const std::string text = fmt::format(
          "input %x: {0}[{1}x{2}] = noise({3})\nconst %zx: {0}[] = {4}\n"
          "const %w: {5}[{2}x{6}] = noise({7})\nconst %zw: {5}[] = {8}\n"
          "%y = MatMulInteger(%x, %w, %zx, %zw)\noutput %y\n",
          row.x, rows, kDepth, row.x == "u8" ? "0, 255" : "-128, 127", row.x_zero, row.w, columns,
          row.w == "u8" ? "0, 255" : "-128, 127", row.w_zero);
      for (const std::string_view target : SimdTargets()) {
        ForceSimdTarget(target);
        SCOPED_TRACE(
            fmt::format("{}: {} rows of {} by {} less {}", target, rows, row.x, row.w, row.w_zero));
        CheckKernel(kCpuQuantisedGemm, text, {.atol = 0, .rtol = 0});
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
