// cpu.block_product.rows: products of one input, with the normalisation that makes it.
#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBlockProductRows;

namespace {

struct BlockMatrix {
  int64_t columns = 0;
  int bits = 4;
  std::string_view scales = "f16";
  int most = 255;  // of codes of 8 bits
};

/// Products of `rows` rows of 160, normalised before where `norm` says so.
std::string Siblings(int64_t rows, bool norm, std::initializer_list<BlockMatrix> matrices) {
  std::string text =
      fmt::format("input %x: f32[1x{}x160]\nconst %g: f32[160] = noise(0.5, 1.5)\n", rows);
  std::string nodes = norm ? "%a = RMSNormalization(%x, %g) {axis=-1, epsilon=0.01}\n" : "";
  std::string outputs;
  for (const BlockMatrix& m : matrices) {
    const size_t i = outputs.size();
    text += fmt::format(
        "const %w{0}: u{1}[{2}x160] = noise(0, {3})\nconst %s{0}: {4}[{2}x5] = noise(0.01, 0.1)\n"
        "const %m{0}: {4}[{2}x5] = noise(-1, 0.1)\n",
        i, m.bits, m.columns, m.bits == 4 ? 15 : m.most, m.scales);
    nodes += fmt::format("%y{0} = BlockMatMul(%{1}, %w{0}, %s{0}, %m{0})\n", i, norm ? "a" : "x");
    outputs += fmt::format("output %y{}\n", i);
  }
  return text + nodes + outputs;
}

/// A step of a row's bytes, where the normalisation differs from the oracle's in its last digit.
constexpr Tolerance kOneByte = {.atol = 0.2, .rtol = 1e-4};

TEST(BlockProduct, SiblingsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const int64_t rows : {1, 3, 9, 70}) {
      for (const bool norm : {false, true}) {
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{64}, {9}, {37}}), kOneByte);
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{1, 8}, {200, 4, "f32"}}),
                    kOneByte);
      }
      CheckKernel(kCpuBlockProductRows, Siblings(rows, true, {{33, 8, "f32"}}), kOneByte);
      // The greatest codes whose sums of four fit 16 bits, and those behind them.
      for (const int most : {63, 64, 127})
        CheckKernel(kCpuBlockProductRows, Siblings(rows, false, {{40, 8, "f16", most}}), kOneByte);
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
