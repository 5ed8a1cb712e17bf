// cpu.attention.few against the oracle: heads that share keys, more keys than fill a tile and a
// chunk, rows that lie apart, and all that is done to scores.
#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuAttentionFew;

namespace {

void CheckFewOnAllTargets(const std::string& text) {
  SCOPED_TRACE(text);
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    CheckKernel(kCpuAttentionFew, text, {.atol = 2e-5, .rtol = 2e-5});
  }
  ForceSimdTarget("");
}

std::string ReasonOf(const std::string& text) {
  const CaseGroup group = ParseGroup(text);
  return std::string(
      CandidatesOf(kCpuAttentionFew, *group.graph, TestDevice(1)).status().message());
}

/// Transposed keys, a product, and what is done to its sums `%p`, which gives `%w`.
std::string Scores(int queries, int keys, int values, const std::string& masks) {
  return fmt::format(
             "input %q: f32[2x3x{0}x8]\ninput %k: f32[2x3x{1}x8]\ninput %v: f32[2x3x{1}x{2}]\n",
             queries, keys, values) +
         "%t = Transpose(%k) {perm=[0,1,3,2]}\n%p = MatMul(%q, %t)\n" + masks +
         "%e = Softmax(%w)\n%y = MatMul(%e, %v)\noutput %y\n";
}

TEST(FewQueries, ReadKeysThatHeadsShareOnce) {
  for (const auto& [queries, keys] : {std::pair(1, 1), {1, 37}, {1, 700}, {5, 64}, {7, 530}}) {
    CheckFewOnAllTargets(fmt::format(
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

TEST(FewQueries, TakeRowsThatLieApart) {
  // [batch, keys, heads, size] as one product gives it, read by heads; results go back there.
  for (const auto& [queries, keys] : {std::pair(1, 70), {3, 600}}) {
    CheckFewOnAllTargets(fmt::format(
        "input %q: f32[2x{0}x3x8]\ninput %k: f32[2x{1}x3x8]\ninput %v: f32[2x{1}x3x16]\n"
        "const %s: i64[3] = 2 {0} 48\nconst %f: f32[] = 0.35\n"
        "%q1 = Transpose(%q) {{perm=[0,2,1,3]}}\n%q2 = Mul(%q1, %f)\n"
        "%t = Transpose(%k) {{perm=[0,2,3,1]}}\n%p = MatMul(%q2, %t)\n%e = Softmax(%p)\n"
        "%v1 = Transpose(%v) {{perm=[0,2,1,3]}}\n%r = MatMul(%e, %v1)\n"
        "%w = Transpose(%r) {{perm=[0,2,1,3]}}\n%y = Reshape(%w, %s)\noutput %y\n",
        queries, keys));
  }
}

TEST(FewQueries, AddMasksAndConstantsToScores) {
  for (const auto& [queries, keys, values] : {std::tuple(1, 1, 1), {2, 37, 3}, {16, 560, 33}}) {
    CheckFewOnAllTargets(Scores(
        queries, keys, values,
        fmt::format("input %m: f32[2x1x1x{1}]\nconst %c: f32[1x3x{0}x{1}]\nconst %f: f32[] = 2.0\n"
                    "%s = Add(%p, %m)\n%d = Div(%s, %f)\n%w = Add(%d, %c)\n",
                    queries, keys)));
  }
}

TEST(FewQueries, LeaveOutHiddenKeys) {
  // A cache with room behind its keys, a window, a chunk that nobody sees, and nothing to see.
  for (const auto& [from, to] : {std::pair(0, 9), {530, 541}, {600, 1300}, {700, 700}}) {
    std::string sees;
    for (int i = 0; i < 1300; ++i) sees += i >= from && i < to ? " 1" : " 0";
    for (const char* number : {"-inf", "-1e38", "0.5"}) {
      if (from == to && std::string_view(number) == "-inf") continue;  // no number: NaN
      CheckFewOnAllTargets(Scores(2, 1300, 16,
                                  "const %c: bool[1x1300] =" + sees + "\nconst %n: f32[] = " +
                                      number + "\n%w = Where(%c, %p, %n)\n"));
    }
  }
}

TEST(FewQueries, RefuseWhatOthersDoBetter) {
  EXPECT_EQ(ReasonOf(Scores(17, 40, 8, "%w = Identity(%p)\n")), "more than 16 queries");
  EXPECT_EQ(ReasonOf("input %q: f32[2x1x8]\ninput %t: f32[2x8x40]\ninput %v: f32[2x40x8]\n"
                     "%p = MatMul(%q, %t)\n%e = Softmax(%p)\n%y = MatMul(%e, %v)\noutput %y\n"),
            "elements of a key or a value that lie apart");
}

}  // namespace
}  // namespace fettle::kernels
