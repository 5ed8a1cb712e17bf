// cpu.attention.tiled against the oracle: operands as exporters cut them from one product, scores
// with sums, masks and numbers, and more queries and keys than fill a block and a tile.
#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuAttentionTiled;

namespace {

constexpr Tolerance kTolerance = {.atol = 2e-5, .rtol = 2e-5};

void CheckOnAllTargets(const std::string& text) {
  SCOPED_TRACE(text);
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    CheckKernel(kCpuAttentionTiled, text, kTolerance);
  }
  ForceSimdTarget("");
}

TEST(TiledAttention, TakesOperandsAsTheyLieInOneProduct) {
  // Two pictures: queries, keys and values side by side, as PyTorch exports its own attention.
  CheckOnAllTargets(
      "input %x: f32[75x2x48]\nconst %s: i64[5] = 75 2 1 3 16\n"
      "const %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %t: i64[1] = 2\nconst %e: i64[1] = 3\n"
      "const %h: i64[3] = 75 4 8\nconst %f: f32[] = 0.5\nconst %g: f32[1] = 0.7\n"
      "const %u: i64[3] = 150 1 16\n"
      "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[3,0,1,2,4]}\n"
      "%q0 = Slice(%b, %z, %o, %z)\n%k0 = Slice(%b, %o, %t, %z)\n%v0 = Slice(%b, %t, %e, %z)\n"
      "%q1 = Reshape(%q0, %h)\n%q2 = Transpose(%q1) {perm=[1,0,2]}\n%q3 = Mul(%q2, %f)\n"
      "%k1 = Reshape(%k0, %h)\n%k2 = Transpose(%k1) {perm=[1,0,2]}\n"
      "%k3 = Transpose(%k2) {perm=[0,2,1]}\n%k4 = Mul(%g, %k3)\n%p = MatMul(%q3, %k4)\n"
      "%n = Softmax(%p) {axis=-1}\n%v1 = Reshape(%v0, %h)\n%v2 = Transpose(%v1) {perm=[1,0,2]}\n"
      "%r = MatMul(%n, %v2)\n%w = Transpose(%r) {perm=[1,0,2]}\n%y = Reshape(%w, %u)\n"
      "output %y\n");
}

TEST(TiledAttention, AddsMasksAndConstantsToScores) {
  for (const auto& [queries, keys, size, values] : {std::tuple(1, 1, 1, 1),
                                                    {5, 37, 6, 3},
                                                    {66, 300, 7, 16},
                                                    {130, 150, 20, 33},
                                                    {40, 560, 20, 33},
                                                    {3, 513, 64, 64}}) {
    CheckOnAllTargets(fmt::format(
        "input %q: f32[2x3x{0}x{2}]\ninput %kt: f32[2x3x{2}x{1}]\ninput %v: f32[2x3x{1}x{3}]\n"
        "input %m: f32[2x1x1x{1}]\nconst %c: f32[1x3x{0}x{1}]\nconst %f: f32[] = 2.0\n"
        "%p = MatMul(%q, %kt)\n%b = Mul(%m, %f)\n%s = Add(%b, %p)\n%d = Div(%s, %f)\n"
        "%e = Add(%d, %c)\n%n = Softmax(%e)\n%y = MatMul(%n, %v)\noutput %y\n",
        queries, keys, size, values));
  }
}

TEST(TiledAttention, AddsScoresOfRelativePositionsAsTheyAreShifted) {
  // As Transformer-XL does it, to the end of an axis by the largest number that there is.
  CheckOnAllTargets(
      "input %q: f32[6x25x16]\ninput %kt: f32[6x16x25]\ninput %v: f32[6x25x16]\n"
      "input %m: f32[6x25x50]\nconst %a: i64[3] = 6 50 25\nconst %b: i64[3] = 6 25 49\n"
      "const %z: i64[1] = 0\nconst %o: i64[1] = 1\nconst %t: i64[1] = 2\nconst %w: i64[1] = 25\n"
      "const %e: i64[1] = 9223372036854775807\n"
      "%r = Reshape(%m, %a)\n%s = Slice(%r, %o, %e, %o, %o)\n%u = Reshape(%s, %b)\n"
      "%d = Slice(%u, %z, %w, %t, %o)\n%p = MatMul(%q, %kt)\n%g = Add(%p, %d)\n"
      "%n = Softmax(%g)\n%y = MatMul(%n, %v)\noutput %y\n");
}

TEST(TiledAttention, KeepsRowsWhoseFirstTilesAreMasked) {
  // The greatest score comes last, and lower ones by far before it.
  for (const char* mask : {"-1e38", "-inf", "-200"}) {
    std::string row;
    for (int i = 0; i < 600; ++i) row += fmt::format(" {}", i < 590 ? mask : "0");
    CheckOnAllTargets(
        "input %q: f32[40x8]\ninput %kt: f32[8x600]\ninput %v: f32[600x16]\n"
        "const %c: f32[1x600] =" +
        row +
        "\n%p = MatMul(%q, %kt)\n%s = Add(%p, %c)\n%n = Softmax(%s)\n%y = MatMul(%n, %v)\n"
        "output %y\n");
  }
}

TEST(TiledAttention, MakesRowsWithoutNumbersZeroWhereThatIsAskedFor) {
  std::string none, some;
  for (int i = 0; i < 300; ++i) {
    none += " -inf";
    some += i < 290 ? " -inf" : " 0.5";
  }
  for (const char* attribute : {"nan_to_zero=1", "nan_to_zero=0"}) {
    CheckOnAllTargets(
        "input %q: f32[2x8]\ninput %kt: f32[8x300]\ninput %v: f32[300x16]\n"
        "const %c: f32[2x300] =" +
        none + some + "\n%p = MatMul(%q, %kt)\n%s = Add(%p, %c)\n%n = Softmax(%s) {" + attribute +
        "}\n%y = MatMul(%n, %v)\noutput %y\n");
  }
}

}  // namespace
}  // namespace fettle::kernels
