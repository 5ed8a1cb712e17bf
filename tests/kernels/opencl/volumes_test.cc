// Convolutions over three axes by matrix instructions against the oracle.
#include "tests/kernels/opencl/mma_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvMma, kOpenClConvMmaF32;

namespace {

using OpenClVolumes = OpenClMma;

/// Taps that are whole tiles of k and not, more than 32 of them, pads and strides of each axis,
/// groups, planes that are all padding, what follows.
TEST_F(OpenClVolumes, ConvolutionsAgreeWithTheOracle) {
  constexpr std::string_view kVolumes[] = {
      "input %x: f32[2x32x4x5x6]\ninput %r: f32[2x40x4x5x6]\nconst %w: f32[40x32x3x3x3]\n"
      "const %b: f32[40]\n%c = Conv(%x, %w, %b) {pads=[1,1,1,1,1,1]}\n%s = Add(%c, %r)\n"
      "%y = Relu(%s)\noutput %y\n",
      "input %x: f32[1x20x5x7x6]\nconst %w: f32[24x20x2x4x5]\nconst %b: f32[24]\n"
      "%y = Conv(%x, %w, %b) {pads=[1,0,2,0,3,1], strides=[2,1,2], dilations=[1,2,1]}\noutput %y\n",
      "input %x: f32[1x64x5x4x6]\nconst %w: f32[32x64x1x1x1]\nconst %b: f32[32]\n"
      "%y = Conv(%x, %w, %b) {strides=[2,2,2]}\noutput %y\n",
      "input %x: f32[1x64x3x4x5]\nconst %w: f32[32x64x1x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
      "input %x: f32[1x64x4x3x4]\nconst %w: f32[64x4x3x1x1]\n"
      "%y = Conv(%x, %w) {group=16, pads=[3,0,0,3,0,0]}\noutput %y\n"};
  for (const std::string_view group : kVolumes)
    for (const KernelDesc* kernel : {&kOpenClConvMma, &kOpenClConvMmaF32}) Check(*kernel, group);
  Check(kOpenClConvMma, kVolumes[0], {{"BM", 64}, {"WM", 32}, {"SPLIT", 3}});
}

}  // namespace
}  // namespace fettle::kernels
