// opencl.block_product.*: element-wise operators behind the products, other tiles, refusals.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClBlockProductRows;
extern const KernelDesc kOpenClBlockProductSiblings;
extern const KernelDesc kOpenClBlockProductTiles;

namespace {

/// A product with a bias and a shortcut.
std::string Group(int64_t rows, int64_t n, int64_t k, int bits, std::string_view scales) {
  return fmt::format(
      "input %a: f32[1x{0}x{2}]\ninput %r: f32[1x{0}x{1}]\nconst %w: u{3}[{1}x{2}] = noise(0, "
      "{5})\n"
      "const %s: {4}[{1}x{6}] = noise(0.01, 0.1)\nconst %m: {4}[{1}x{6}] = noise(-1, 0.1)\n"
      "const %b: f32[{1}]\n%p = BlockMatMul(%a, %w, %s, %m) {{block_size=32}}\n"
      "%q = Add(%p, %b)\n%y = Add(%r, %q)\noutput %y\n",
      rows, n, k, bits, scales, bits == 4 ? 15 : 255, k / 32);
}

/// Products of one row, with a normalisation before.
std::string Siblings(std::string_view norm, std::initializer_list<int64_t> columns, int bits) {
  std::string text = "input %x: f32[1x1x160]\nconst %g: f32[160] = noise(0.5, 1.5)\n", outputs;
  const std::string_view rows = norm.empty() ? "x" : "a";
  for (const int64_t n : columns) {
    const std::string i = std::to_string(outputs.size());
    text += fmt::format(
        "const %w{0}: u{1}[{2}x160] = noise(0, {3})\nconst %s{0}: f16[{2}x5] = noise(0.01, 0.1)\n"
        "const %m{0}: f16[{2}x5] = noise(-1, 0.1)\n",
        i, bits, n, bits == 4 ? 15 : 255);
    outputs += fmt::format("%y{0} = BlockMatMul(%{1}, %w{0}, %s{0}, %m{0})\n", i, rows);
  }
  text += fmt::format("{}{}", norm, outputs);
  for (size_t at = 0; (at = outputs.find("%y", at)) != std::string::npos; ++at)
    text += fmt::format("output {}\n", outputs.substr(at, outputs.find(' ', at) - at));
  return text;
}
constexpr std::string_view kNorm = "%a = RMSNormalization(%x, %g) {axis=-1, epsilon=0.01}\n";

using OpenClBlockSiblings = OneOpenClKernel<kOpenClBlockProductSiblings>;
using OpenClBlockRows = OneOpenClKernel<kOpenClBlockProductRows>;
using OpenClBlockTiles = OneOpenClKernel<kOpenClBlockProductTiles>;

TEST_F(OpenClBlockRows, FinishesWithAShortcut) {
  Check(Group(1, 37, 160, 4, "f16"), 1);
  Check(Group(5, 70, 96, 8, "f16"), 1);
  Check(Group(16, 9, 64, 4, "f32"), 1);
}

TEST_F(OpenClBlockRows, OtherTilesDoToo) {
  Check(Group(1, 70, 1120, 4, "f16"), 1, {{"items", 64}, {"lanes", 8}, {"columns", 8}});
  Check(Group(1, 5, 96, 8, "f32"), 1, {{"items", 256}, {"lanes", 64}, {"columns", 2}});
  Check(Group(7, 70, 96, 4, "f16"), 1, {{"items", 32}, {"lanes", 16}, {"columns", 1}});
}

TEST_F(OpenClBlockSiblings, AgreeWithTheOracle) {
  Check(Siblings("", {37, 70}, 4), 1);
  Check(Siblings(kNorm, {64, 9, 10}, 4), 1);
  Check(Siblings(kNorm, {70, 70}, 8), 1, {{"items", 64}, {"lanes", 16}, {"columns", 2}});
  Check(Siblings(kNorm, {1, 200, 3}, 4), 1, {{"items", 128}, {"lanes", 8}, {"columns", 8}});
  EXPECT_EQ(RefusalOf(Group(1, 37, 160, 4, "f16")),
            "computes two or three BlockMatMul of one row only");
}

/// Two products of one row, which `end` makes one: an activation `%t` of the product {0}, or of
/// {1}, and `%y`.
std::string Pair(std::string_view norm, int64_t n, int bits, std::string_view end) {
  std::string text = Siblings(norm, {n, n}, bits);
  const size_t last = text.rfind("output ") + 7;
  const std::string second = text.substr(last, text.size() - 1 - last);
  text.resize(text.find("output "));
  return text + fmt::format(fmt::runtime(end), "%y0", second) + "output %y\n";
}

TEST_F(OpenClBlockSiblings, PairsBecomeOneRow) {
  Check(Pair("", 37, 4, "%t = Swish({0})\n%y = Mul(%t, {1})\n"), 1);
  Check(Pair(kNorm, 70, 8, "%t = Gelu({1})\n%y = Mul({0}, %t)\n"), 1,
        {{"items", 64}, {"lanes", 16}, {"columns", 4}});
  Check(Pair(kNorm, 9, 4, "%t = Gelu({0}) {{approximate=\"tanh\"}}\n%y = Mul({1}, %t)\n"), 1);
  EXPECT_EQ(RefusalOf(Pair(kNorm, 9, 4, "%t = Tanh({0})\n%y = Mul({1}, %t)\n")),
            "multiplies by another activation than Swish or Gelu");
}

TEST_F(OpenClBlockTiles, FinishesWithAShortcut) {
  for (const int64_t rows : {16, 32, 64}) Check(Group(70, 133, 96, 4, "f16"), 1, {{"rows", rows}});
  Check(Group(17, 64, 64, 8, "f32"), 1);
}

TEST_F(OpenClBlockRows, RefusesWhatItCannotCompute) {
  EXPECT_EQ(RefusalOf(Group(17, 37, 160, 4, "f16")), "more than 16 rows");
  EXPECT_EQ(RefusalOf("input %a: f32[1x32]\ninput %w: u8[5x32]\nconst %s: f32[5x1]\n"
                      "const %m: f32[5x1]\n%y = BlockMatMul(%a, %w, %s, %m)\noutput %y\n"),
            "weights are computed");
  EXPECT_EQ(RefusalOf("input %x: f32[4x4]\n%y = Relu(%x)\noutput %y\n"),
            "computes BlockMatMul only");
}

}  // namespace
}  // namespace fettle::kernels
