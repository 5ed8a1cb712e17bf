#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ConvTransposeCases() {
  static constexpr Case kCases[] = {
      {"conv_transpose.2x2_stride_2",
       "input %x: f32[1x16x7x9]\nconst %w: f32[16x8x2x2]\nconst %b: f32[8]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[2,2]}\noutput %y\n"},
      {"conv_transpose.4x4_stride_2_pad_1_primes",
       "input %x: f32[2x5x7x11]\nconst %w: f32[5x13x4x4]\n"
       "%y = ConvTranspose(%x, %w) {pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"conv_transpose.output_padding",
       "input %x: f32[1x3x5x5]\nconst %w: f32[3x7x3x3]\n"
       "%y = ConvTranspose(%x, %w) {output_padding=[1,1], pads=[1,1,1,1], strides=[2,2]}\n"
       "output %y\n"},
      {"conv_transpose.output_shape",
       "input %x: f32[1x3x5x5]\nconst %w: f32[3x2x3x3]\n"
       "%y = ConvTranspose(%x, %w) {output_shape=[10,12], strides=[2,3]}\noutput %y\n"},
      {"conv_transpose.same_upper",
       "input %x: f32[1x3x5x7]\nconst %w: f32[3x2x3x3]\n"
       "%y = ConvTranspose(%x, %w) {auto_pad=\"SAME_UPPER\", strides=[2,2]}\noutput %y\n"},
      {"conv_transpose.same_lower",
       "input %x: f32[1x3x5x7]\nconst %w: f32[3x2x4x4]\n"
       "%y = ConvTranspose(%x, %w) {auto_pad=\"SAME_LOWER\", strides=[3,3]}\noutput %y\n"},
      {"conv_transpose.stride_past_kernel",
       "input %x: f32[1x3x4x5]\nconst %w: f32[3x2x2x2]\nconst %b: f32[2]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[3,4]}\noutput %y\n"},
      {"conv_transpose.stride_past_kernel_of_many",
       "input %x: f32[2x12x9x13]\nconst %w: f32[12x32x2x1]\nconst %b: f32[64]\n"
       "%c = ConvTranspose(%x, %w, %b) {group=2, output_padding=[1,0], strides=[3,2]}\n"
       "%y = Relu(%c)\noutput %y\n"},
      {"conv_transpose.1x1_stride_3",
       "input %x: f32[2x7x9x21]\nconst %w: f32[7x20x1x1]\nconst %b: f32[20]\n"
       "%c = ConvTranspose(%x, %w, %b) {strides=[3,3]}\n%y = Relu(%c)\noutput %y\n"},
      {"conv_transpose.1x1x1_stride_2",
       "input %x: f32[1x5x3x4x19]\nconst %w: f32[5x26x1x1x1]\nconst %b: f32[26]\n"
       "%y = ConvTranspose(%x, %w, %b) {output_padding=[1,1,0], strides=[2,2,2]}\noutput %y\n"},
      {"conv_transpose.3_of_stride_4",
       "input %x: f32[1x9x530]\nconst %w: f32[9x14x3]\nconst %b: f32[14]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[4]}\noutput %y\n"},
      {"conv_transpose.2_of_stride_5",
       "input %x: f32[1x6x37]\nconst %w: f32[6x11x2]\nconst %b: f32[11]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[5]}\noutput %y\n"},
      {"conv_transpose.2x3_cropped",
       "input %x: f32[1x5x11x17]\nconst %w: f32[5x9x2x3]\nconst %b: f32[9]\n"
       "%y = ConvTranspose(%x, %w, %b) {pads=[0,0,3,4], strides=[2,3]}\noutput %y\n"},
      {"conv_transpose.rows_alone",
       "input %x: f32[1x7x6x19]\nconst %w: f32[7x30x2x1]\n"
       "%c = ConvTranspose(%x, %w) {strides=[2,1]}\n%y = Swish(%c)\noutput %y\n"},
      {"conv_transpose.3d_apart",
       "input %x: f32[1x6x3x5x9]\nconst %w: f32[6x10x1x2x4]\nconst %b: f32[10]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[2,2,4]}\noutput %y\n"},
      {"conv_transpose.grouped",
       "input %x: f32[1x12x5x6]\nconst %w: f32[12x5x3x3]\nconst %b: f32[15]\n"
       "%y = ConvTranspose(%x, %w, %b) {group=3, pads=[1,1,1,1]}\noutput %y\n"},
      {"conv_transpose.depthwise",
       "input %x: f32[1x17x6x6]\nconst %w: f32[17x1x4x4]\n"
       "%y = ConvTranspose(%x, %w) {group=17, pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
      {"conv_transpose.dilated",
       "input %x: f32[1x3x6x7]\nconst %w: f32[3x4x3x3]\n"
       "%y = ConvTranspose(%x, %w) {dilations=[2,3]}\noutput %y\n"},
      {"conv_transpose.asymmetric_pads",
       "input %x: f32[1x3x6x7]\nconst %w: f32[3x4x3x3]\n"
       "%y = ConvTranspose(%x, %w) {pads=[0,1,2,0], strides=[2,1]}\noutput %y\n"},
      {"conv_transpose.1d",
       "input %x: f32[2x3x11]\nconst %w: f32[3x5x4]\n"
       "%y = ConvTranspose(%x, %w) {strides=[2]}\noutput %y\n"},
      {"conv_transpose.3d",
       "input %x: f32[1x2x3x4x5]\nconst %w: f32[2x3x2x2x2]\n"
       "%y = ConvTranspose(%x, %w) {strides=[2,2,2]}\noutput %y\n"},
      {"conv_transpose.3d_overlap",
       "input %x: f32[1x4x3x4x5]\nconst %w: f32[4x3x3x4x3]\nconst %b: f32[6]\n"
       "%c = ConvTranspose(%x, %w, %b) {group=2, pads=[1,1,1,1,1,1], strides=[2,2,1]}\n"
       "%y = Relu(%c)\noutput %y\n"},
      {"conv_transpose.1d_long_stride",
       "input %x: f32[1x6x5]\nconst %w: f32[6x2x40]\n"
       "%y = ConvTranspose(%x, %w) {strides=[40]}\noutput %y\n"},
      {"conv_transpose.1x1_pixel",
       "input %x: f32[1x1x1x1]\nconst %w: f32[1x1x1x1]\n%y = ConvTranspose(%x, %w)\noutput %y\n"},
      {"conv_transpose.f16",
       "input %x: f16[1x8x5x5]\nconst %w: f16[8x8x2x2]\n"
       "%y = ConvTranspose(%x, %w) {strides=[2,2]}\noutput %y\n"},
      {"conv_transpose.relu",
       "input %x: f32[1x8x5x5]\nconst %w: f32[8x8x2x2]\nconst %b: f32[8]\n"
       "%c = ConvTranspose(%x, %w, %b) {strides=[2,2]}\n%y = Relu(%c)\noutput %y\n"},
      {"conv_transpose.2x2_stride_2_bench",
       "input %x: f32[1x128x64x64]\nconst %w: f32[128x64x2x2]\nconst %b: f32[64]\n"
       "%y = ConvTranspose(%x, %w, %b) {strides=[2,2]}\noutput %y\n",
       true},
      {"conv_transpose.4x4_stride_2_bench",
       "input %x: f32[1x64x64x64]\nconst %w: f32[64x32x4x4]\n"
       "%y = ConvTranspose(%x, %w) {pads=[1,1,1,1], strides=[2,2]}\noutput %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
