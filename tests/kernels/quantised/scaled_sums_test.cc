// Products of bytes whose sums are scaled, with and without an addend for each column.
#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedGemm;
extern const KernelDesc kCpuQuantisedInteger;

namespace {

struct Sizes {
  int m, k, n;
};
/// Columns that fill tiles of 8, 16 and 32, and that do not; depths of whole steps, and not.
constexpr Sizes kSizes[] = {{1, 13, 3}, {5, 8, 8},  {9, 37, 21}, {31, 6, 24},
                            {7, 4, 33}, {2, 9, 40}, {64, 10, 70}};

std::string Product(const Sizes& size, bool computed, bool is_signed, std::string_view tail) {
  const std::string_view w_type = is_signed ? "i8" : "u8";
  return fmt::format(
      "input %x: u8[2x{0}x{1}] = noise(0, 255)\ninput %zx: u8[] = noise(90, 90)\n"
      "{3} %w: {4}[{5}{1}x{2}] = noise({6})\n{3} %zw: {4}[] = noise(7, 7)\n"
      "input %s: f32[]\nconst %b: f32[{2}]\n"
      "%c = MatMulInteger(%x, %w, %zx, %zw)\n%f = Cast(%c) {{to=\"f32\"}}\n{7}",
      size.m, size.k, size.n, computed ? "input" : "const", w_type, computed ? "2x" : "",
      is_signed ? "-128, 127" : "0, 255", tail);
}

TEST(Quantised, ScaledSumsOfBytes) {
  static constexpr const char* kTails[] = {"%y = Mul(%f, %s)\noutput %y\n",
                                           "%y = Mul(%b, %f)\noutput %y\n",
                                           "%m = Mul(%f, %s)\n%y = Add(%b, %m)\noutput %y\n"};
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const Sizes& size : kSizes) {
      for (int flags = 0; flags < 4; ++flags) {
        const bool computed = (flags & 1) != 0;
        SCOPED_TRACE(fmt::format("{} {}x{}x{} {}", target, size.m, size.k, size.n, flags));
        // Exact: each operation rounds as the graph's.
        for (const char* tail : kTails)
          CheckKernel(computed ? kCpuQuantisedInteger : kCpuQuantisedGemm,
                      Product(size, computed, (flags & 2) != 0, tail), {});
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
