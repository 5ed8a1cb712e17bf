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

TEST(TiledAttention, ReadsKeysAndValuesThatHeadsShareOnce) {
  // Two heads of keys for six of queries, repeated for each as PyTorch exports it.
  for (const auto& [queries, keys] : {std::pair(1, 1), {1, 37}, {1, 700}, {5, 37}, {20, 560}}) {
    CheckOnAllTargets(fmt::format(
        "input %q: f32[2x6x{0}x8]\ninput %k: f32[2x2x{1}x8]\ninput %v: f32[2x2x{1}x16]\n"
        "input %m: bool[2x1x{0}x{1}] = noise(0, 1)\nconst %a: i64[1] = 2\n"
        "const %ek: i64[5] = 2 2 3 {1} 8\nconst %ev: i64[5] = 1 1 3 1 1\n"
        "const %rk: i64[4] = 2 6 {1} 8\nconst %rv: i64[4] = 2 6 {1} 16\nconst %n: f32[] = -1e9\n"
        "%k1 = Unsqueeze(%k, %a)\n%k2 = Expand(%k1, %ek)\n%k3 = Reshape(%k2, %rk)\n"
        "%v1 = Unsqueeze(%v, %a)\n%v2 = Expand(%v1, %ev)\n%v3 = Reshape(%v2, %rv)\n"
        "%t = Transpose(%k3) {{perm=[0,1,3,2]}}\n%p = MatMul(%q, %t)\n%w = Where(%m, %p, %n)\n"
        "%e = Softmax(%w)\n%y = MatMul(%e, %v3)\noutput %y\n",
        queries, keys));
  }
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

TEST(TiledAttention, ReplacesScoresByANumber) {
  for (const char* number : {"-inf", "-1e9", "0.25"}) {
    for (const auto& [queries, keys] : {std::pair(1, 1), {5, 37}, {70, 300}, {33, 530}}) {
      const std::string operands = fmt::format(
          "input %q: f32[2x3x{0}x8]\ninput %kt: f32[2x3x8x{1}]\ninput %v: f32[2x3x{1}x16]\n"
          "const %f: f32[] = 0.5\nconst %n: f32[] = {2}\n%p = MatMul(%q, %kt)\n"
          "%s = Mul(%p, %f)\n",
          queries, keys, number);
      const std::string behind = "%e = Softmax(%w)\n%y = MatMul(%e, %v)\noutput %y\n";
      // A column, a row and a matrix of conditions; the number where they are true, and where not.
      for (const std::string& shape : {fmt::format("2x1x1x{}", keys), fmt::format("{}x1", queries),
                                       fmt::format("3x{}x{}", queries, keys)}) {
        const std::string condition = "input %c: bool[" + shape + "] = noise(0, 1)\n";
        CheckOnAllTargets(condition + operands + "%w = Where(%c, %n, %s)\n" + behind);
        CheckOnAllTargets(condition + operands + "%w = Where(%c, %s, %n)\n" + behind);
      }
    }
  }
}

TEST(TiledAttention, ReplacesScoresByAConstantCondition) {
  CheckOnAllTargets(
      "input %q: f32[2x3x8]\ninput %kt: f32[2x8x4]\ninput %v: f32[2x4x16]\n"
      "const %c: bool[3x4] = 1 0 0 0 1 1 0 0 1 1 1 0\nconst %n: f32[] = -inf\n"
      "input %m: f32[2x1x4]\n%p = MatMul(%q, %kt)\n%s = Add(%p, %m)\n"
      "%w = Where(%c, %s, %n)\n%e = Softmax(%w)\n%y = MatMul(%e, %v)\noutput %y\n");
}

TEST(TiledAttention, RefusesWhatOnlyLooksLikeAMask) {
  const std::string operands =
      "input %q: f32[2x3x8]\ninput %kt: f32[2x8x4]\ninput %v: f32[2x4x16]\n"
      "input %c: bool[3x4] = noise(0, 1)\ninput %t: f32[3x4]\nconst %n: f32[] = -2\n"
      "%p = MatMul(%q, %kt)\n";
  const std::string behind = "%e = Softmax(%w)\n%y = MatMul(%e, %v)\noutput %y\n";
  for (const char* scores :
       {"%w = Where(%c, %t, %p)\n", "%s = Where(%c, %n, %p)\n%w = Add(%s, %t)\n",
        "%s = Where(%c, %n, %p)\n%w = Where(%c, %s, %n)\n",
        "%s = Where(%c, %n, %p)\n%w = Mul(%s, %n)\n"}) {
    const CaseGroup group = ParseGroup(operands + scores + behind);
    EXPECT_FALSE(CandidatesOf(kCpuAttentionTiled, *group.graph, TestDevice(1)).ok()) << scores;
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

TEST(TiledAttention, LeavesOutKeysThatNoQueryOfABlockSees) {
  constexpr int kQueries = 150, kAll = 700;
  // The last key of each query, and how many it sees: causal order, a window, and a query of none.
  for (const auto& [past, window, size, blind] :
       {std::tuple(0, kAll, 16, -1), {500, kAll, 5, -1}, {0, 20, 16, -1}, {400, 130, 33, 70}}) {
    const int keys = past + kQueries;
    std::string added, sees;
    for (int q = 0; q < kQueries; ++q) {
      for (int k = 0; k < keys; ++k) {
        const bool seen = k <= past + q && k > past + q - window && q != blind;
        added += seen ? " 0.25" : " -1e38";
        sees += seen ? " 1" : " 0";
      }
    }
    const std::string operands =
        fmt::format("input %q: f32[2x{0}x8]\ninput %kt: f32[2x8x{1}]\ninput %v: f32[2x{1}x{2}]\n",
                    kQueries, keys, size);
    const std::string behind = "%n = Softmax(%w)\n%y = MatMul(%n, %v)\noutput %y\n";
    const std::string shape = fmt::format("[{}x{}] =", kQueries, keys);
    CheckOnAllTargets(operands + "const %c: f32" + shape + added +
                      "\n%p = MatMul(%q, %kt)\n%w = Add(%p, %c)\n" + behind);
    for (const char* number : {"-1e38", "0.5"}) {
      CheckOnAllTargets(
          operands + fmt::format("input %m: f32[1x{}]\nconst %f: f32[] = {}\n", keys, number) +
          "const %c: bool" + shape + sees +
          "\n%p = MatMul(%q, %kt)\n%s = Add(%p, %m)\n%w = Where(%c, %s, %f)\n" + behind);
    }
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
