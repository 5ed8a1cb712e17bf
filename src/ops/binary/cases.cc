#include "ops/cases.h"

namespace fettle::ops {
namespace {

// Noise of 53 bits: channels up to there, and whole words beyond. Shapes as in the tests of Larq
// (bconv2d), daBNN and Bolt.
constexpr Case kBinaryCases[] = {
    {"binary.pack_channels",
     "input %x: f32[2x70x3x5]\n%y = PackBits(%x) {low=0.0, high=inf}\noutput %y\n"},
    {"binary.pack_strictly",
     "input %x: f32[1x128x4x4] = noise(-2, 2)\n"
     "%y = PackBits(%x) {low=-0.5, high=0.25}\noutput %y\n"},
    {"binary.pack_inverted",
     "input %x: f32[1x33x7]\n%y = PackBits(%x) {low=0.0, high=inf, invert=1}\noutput %y\n"},
    {"binary.pack_groups",
     "input %x: f32[1x130x2x3]\n%y = PackBits(%x) {low=0.0, high=inf, group=2}\noutput %y\n"},
    {"binary.pack_rows",
     "input %x: f32[3x5x129]\n%y = PackBits(%x) {axis=-1, low=0.0, high=inf}\noutput %y\n"},
    {"binary.pack_one", "input %x: f32[1x1]\n%y = PackBits(%x) {low=0.0, high=inf}\noutput %y\n"},
    {"binary.pack_nothing",
     "input %x: f32[0x64x3x3]\n%y = PackBits(%x) {low=0.0, high=inf}\noutput %y\n"},
    {"binary.pack_many",
     "input %x: f32[1x256x28x28]\n%y = PackBits(%x) {low=0.0, high=inf}\noutput %y\n", true},
    {"binary.conv_1x1",
     "input %x: u64[1x7x7x1] = noise(0, 15)\nconst %w: u64[5x1x1x1] = noise(0, 15)\n"
     "const %r: f32[3x5]\n%y = BinaryConv(%x, %w, %r) {channels=4}\noutput %y\n"},
    {"binary.conv_3x3_padded",
     "input %x: u64[2x8x5x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[17x3x3x1] = noise(0, 9007199254740991)\nconst %r: f32[3x17]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=64, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_padded_with_ones",
     "input %x: u64[2x5x4x1] = noise(0, 1099511627775)\n"
     "const %w: u64[9x3x3x1] = noise(0, 1099511627775)\nconst %r: f32[3x9]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=40, pads=[1,2,1,1], pad_bit=1}\noutput %y\n"},
    {"binary.conv_padded_with_zeros_to_bits",
     "input %x: u64[1x5x4x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[16x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x16] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, pads=[1,1,1,1], x_unipolar=1, pad_bit=0}\n"
     "output %y\n"},
    {"binary.conv_two_words",
     "input %x: u64[1x8x5x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[8x3x2x2] = noise(0, 9007199254740991)\nconst %r: f32[3x8]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=128, pads=[1,0,1,1]}\noutput %y\n"},
    {"binary.conv_stride_dilation",
     "input %x: u64[1x13x11x3] = noise(0, 9007199254740991)\n"
     "const %w: u64[9x2x3x3] = noise(0, 9007199254740991)\nconst %r: f32[3x9]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=192, strides=[2,3], dilations=[3,2], "
     "pads=[2,1,3,2]}\noutput %y\n"},
    {"binary.conv_same",
     "input %x: u64[1x7x7x8] = noise(0, 9007199254740991)\n"
     "const %w: u64[64x3x3x8] = noise(0, 9007199254740991)\nconst %r: f32[3x64]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=512, auto_pad=\"SAME_UPPER\"}\noutput %y\n"},
    {"binary.conv_short_lines",
     "input %x: u64[1x3x8x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[24x3x3x2] = noise(0, 9007199254740991)\nconst %r: f32[3x24]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=128, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_short_lines_to_bits",
     "input %x: u64[2x5x14x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[16x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x16] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, strides=[2,2], pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_ends_alone",
     "input %x: u64[1x4x6x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[24x3x2x1] = noise(0, 9007199254740991)\nconst %r: f32[3x24]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=64, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_1x1_padded",
     "input %x: u64[1x4x5x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[24x1x1x1] = noise(0, 9007199254740991)\nconst %r: f32[3x24]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=64, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_lines_outside",
     "input %x: u64[2x3x7x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[32x3x3x1] = noise(0, 9007199254740991)\nconst %r: f32[3x32]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=64, pads=[4,1,5,2], dilations=[2,1]}\noutput %y\n"},
    {"binary.conv_long_lines_to_bits",
     "input %x: u64[1x4x73x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[72x3x3x2] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x72] = noise(-300, 300)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=128, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_groups",
     "input %x: u64[1x6x5x4] = noise(0, 16777215)\n"
     "const %w: u64[12x3x3x1] = noise(0, 16777215)\nconst %r: f32[3x12]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=96, group=4, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_zeros_and_ones",
     "input %x: u64[1x6x5x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[12x3x3x2] = noise(0, 9007199254740991)\nconst %r: f32[3x12]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=128, pads=[1,1,1,1], x_zero=0.0}\noutput %y\n"},
    {"binary.conv_line",
     "input %x: u64[1x19x1] = noise(0, 2147483647)\n"
     "const %w: u64[3x5x1] = noise(0, 2147483647)\nconst %r: f32[3x3]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=31, pads=[2,2]}\noutput %y\n"},
    {"binary.conv_volume",
     "input %x: u64[1x4x5x6x1] = noise(0, 8589934591)\n"
     "const %w: u64[3x2x3x2x1] = noise(0, 8589934591)\nconst %r: f32[3x3]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=33, pads=[1,1,0,0,1,1]}\noutput %y\n"},
    {"binary.conv_to_bits",
     "input %x: u64[1x9x7x2] = noise(0, 9007199254740991)\n"
     "const %w: u64[70x3x3x2] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x70] = noise(-300, 300)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=128, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_to_bits_unipolar_x",
     "input %x: u64[1x9x7x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[72x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x72] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, pads=[1,1,1,1], x_unipolar=1}\noutput %y\n"},
    {"binary.conv_to_bits_unipolar_w",
     "input %x: u64[1x9x7x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[16x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x16] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, pads=[1,1,1,1], w_unipolar=1}\noutput %y\n"},
    {"binary.conv_to_bits_unipolar",
     "input %x: u64[1x9x7x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[130x3x3x1] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x130] = noise(60, 200)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, pads=[1,1,1,1], x_unipolar=1, "
     "w_unipolar=1}\noutput %y\n"},
    {"binary.conv_groups_to_bits",
     "input %x: u64[1x6x5x2] = noise(0, 4294967295)\n"
     "const %w: u64[80x3x3x1] = noise(0, 4294967295)\nconst %l: i32[2x80] = noise(-60, 60)\n"
     "%y = BinaryConv(%x, %w, %l) {channels=64, group=2, pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.conv_deep",
     "input %x: u64[1x6x6x48] = noise(0, 9007199254740991)\n"
     "const %w: u64[9x5x5x48] = noise(0, 9007199254740991)\nconst %r: f32[3x9]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=3072, pads=[2,2,2,2]}\noutput %y\n"},
    {"binary.conv_256",
     "input %x: u64[1x7x7x4] = noise(0, 9007199254740991)\n"
     "const %w: u64[128x3x3x4] = noise(0, 9007199254740991)\nconst %r: f32[3x128]\n"
     "%y = BinaryConv(%x, %w, %r) {channels=256, pads=[1,1,1,1]}\noutput %y\n",
     true},
    {"binary.conv_residual_to_bits",
     "input %x: u64[1x9x7x2] = noise(0, 9007199254740991)\ninput %s: f32[1x130x9x7]\n"
     "const %w: u64[130x3x3x2] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x130]\nconst %a: f32[130x1x1]\nconst %b: f32[130x1x1]\n"
     "%c = BinaryConv(%x, %w, %r) {channels=128, pads=[1,1,1,1]}\n%m = Mul(%c, %a)\n"
     "%n = Add(%m, %b)\n%y = Add(%s, %n)\n%t = PackBits(%y) {low=0.0, high=inf}\n"
     "output %y\noutput %t\n"},
    {"binary.conv_residual_to_shifted_bits",
     "input %x: u64[2x4x5x1] = noise(0, 9007199254740991)\ninput %s: f32[2x33x4x5]\n"
     "const %w: u64[33x1x1x1] = noise(0, 9007199254740991)\n"
     "const %r: f32[3x33]\nconst %a: f32[33x1x1]\nconst %b: f32[33x1x1]\n"
     "%c = BinaryConv(%x, %w, %r) {channels=64}\n%n = Add(%c, %s)\n%y = PRelu(%n, %a)\n"
     "%h = Add(%y, %b)\n%t = PackBits(%h) {low=0.0, high=inf}\noutput %y\noutput %t\n"},
    {"binary.conv_relu_to_bits_alone",
     "input %x: u64[1x9x9x1] = noise(0, 9007199254740991)\n"
     "const %w: u64[64x3x3x1] = noise(0, 9007199254740991)\nconst %r: f32[3x64]\n"
     "%c = BinaryConv(%x, %w, %r) {channels=64, strides=[2,2]}\n%y = Relu(%c)\n"
     "%t = PackBits(%y) {low=1.0, high=inf}\noutput %t\n"},
    {"binary.matmul_residual_to_bits",
     "input %x: u64[3x5x1] = noise(0, 9007199254740991)\ninput %s: f32[3x5x70]\n"
     "const %w: u64[70x1] = noise(0, 9007199254740991)\nconst %r: f32[3x70]\n"
     "%c = BinaryMatMul(%x, %w, %r) {channels=64}\n%y = Add(%c, %s)\n"
     "%t = PackBits(%y) {axis=-1, low=0.0, high=inf}\noutput %y\noutput %t\n"},
    {"binary.matmul_one_bit",
     "input %x: u64[1x1]\nconst %w: u64[3x1] = noise(0, 1)\nconst %r: f32[3x3]\n"
     "%y = BinaryMatMul(%x, %w, %r) {channels=1}\noutput %y\n"},
    {"binary.matmul_rows",
     "input %x: u64[2x5x3] = noise(0, 9007199254740991)\n"
     "const %w: u64[10x3] = noise(0, 9007199254740991)\nconst %r: f32[3x10]\n"
     "%y = BinaryMatMul(%x, %w, %r) {channels=192}\noutput %y\n"},
    {"binary.matmul_to_bits",
     "input %x: u64[1x16] = noise(0, 9007199254740991)\n"
     "const %w: u64[1024x16] = noise(0, 9007199254740991)\n"
     "const %l: i32[2x1024] = noise(-900, 900)\n"
     "%y = BinaryMatMul(%x, %w, %l) {channels=1024}\noutput %y\n",
     true},
    {"binary.max_pool_2x2",
     "input %x: u64[1x6x8x2] = noise(0, 9007199254740991)\n"
     "%y = BinaryMaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"},
    {"binary.max_pool_3x3_padded",
     "input %x: u64[2x7x5x1] = noise(0, 9007199254740991)\n"
     "%y = BinaryMaxPool(%x) {kernel_shape=[3,3], strides=[2,1], pads=[1,1,1,1]}\noutput %y\n"},
    {"binary.max_pool_ceil",
     "input %x: u64[1x7x1] = noise(0, 255)\n"
     "%y = BinaryMaxPool(%x) {kernel_shape=[2], strides=[2], ceil_mode=1}\noutput %y\n"},
};

}  // namespace

std::span<const Case> BinaryCases() { return kBinaryCases; }

}  // namespace fettle::ops
