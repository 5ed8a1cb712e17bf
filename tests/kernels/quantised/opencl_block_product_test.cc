// opencl.block_product.*: element-wise operators behind the products, other tiles, refusals.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClBlockProductRows;
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
