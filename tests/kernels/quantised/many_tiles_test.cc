#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedGemm;

namespace {

/// Tiles of rows, the last of them short, by panels of which the last is short, to bytes and to
/// floats: tiles run many at once, and fetch the panel behind.
TEST(Quantised, ManyTilesOfRowsAndPanels) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const int rows : {7, 52, 128}) {
      for (const bool bytes : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {} rows, {}", target, rows, bytes));
        CheckKernel(
            kCpuQuantisedGemm,
            fmt::format("input %q: u8[{}x131] = noise(0, 255)\nconst %sx: f32[] = 0.02\n"
                        "const %zx: u8[] = 7\nconst %w: i8[131x150] = noise(-127, 127)\n"
                        "const %sw: f32[150] = noise(0.005, 0.01)\nconst %sy: f32[] = 0.05\n"
                        "%x = DequantizeLinear(%q, %sx, %zx)\n"
                        "%f = DequantizeLinear(%w, %sw) {{axis=1}}\n%c = MatMul(%x, %f)\n{}",
                        rows, bytes ? "%y = QuantizeLinear(%c, %sy)\noutput %y\n" : "output %c\n"),
            bytes ? Tolerance{.atol = 1, .rtol = 0} : Tolerance{.atol = 1e-3, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
