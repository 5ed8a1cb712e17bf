#include "ops/cases.h"

namespace fettle::ops {
namespace {

constexpr Case kShapeCases[] = {
    {"conv.1x1",
     "input %x: f32[1x16x7x9]\nconst %w: f32[24x16x1x1]\nconst %b: f32[24]\n"
     "%y = Conv(%x, %w, %b)\noutput %y\n"},
    {"conv.1x1_strided",
     "input %x: f32[1x19x11x14]\nconst %w: f32[23x19x1x1]\n"
     "%y = Conv(%x, %w) {strides=[2,2]}\noutput %y\n"},
    {"conv.1x1_one_pixel",
     "input %x: f32[1x37x1x1]\nconst %w: f32[11x37x1x1]\nconst %b: f32[11]\n"
     "%y = Conv(%x, %w, %b)\noutput %y\n"},
    {"conv.1x1_all_ones",
     "input %x: f32[1x1x1x1]\nconst %w: f32[1x1x1x1]\n%y = Conv(%x, %w)\noutput %y\n"},
    {"conv.3x3_pad_prime_channels",
     "input %x: f32[2x5x11x13]\nconst %w: f32[7x5x3x3]\n%y = Conv(%x, %w) "
     "{pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.3x3_channels_33",
     "input %x: f32[1x33x6x5]\nconst %w: f32[35x33x3x3]\nconst %b: f32[35]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.3x3_strided",
     "input %x: f32[1x16x13x15]\nconst %w: f32[16x16x3x3]\nconst %b: f32[16]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,2]}\noutput %y\n"},
    {"conv.column",
     "input %x: f32[2x1x43x1]\nconst %w: f32[17x1x9x1]\nconst %b: f32[17]\n"
     "%y = Conv(%x, %w, %b) {pads=[4,0,4,0], strides=[2,1]}\noutput %y\n"},
    {"conv.column_dilated",
     "input %x: f32[1x24x29x1]\nconst %w: f32[19x24x5x1]\n"
     "%y = Conv(%x, %w) {pads=[4,0,3,0], dilations=[2,1]}\noutput %y\n"},
    {"conv.3x3_no_padding_one_output",
     "input %x: f32[1x8x3x3]\nconst %w: f32[5x8x3x3]\n%y = Conv(%x, %w)\noutput %y\n"},
    {"conv.3x3_padding_over_input",
     "input %x: f32[1x3x1x2]\nconst %w: f32[4x3x3x3]\n"
     "%y = Conv(%x, %w) {pads=[2,2,2,2]}\noutput %y\n"},
    {"conv.3x3_tiles_of_every_border",
     "input %x: f32[2x19x21x18]\nconst %w: f32[35x19x3x3]\nconst %b: f32[35]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,0,1,2]}\noutput %y\n"},
    {"conv.3x3_tiles_and_residual",
     "input %x: f32[1x16x27x23]\ninput %r: f32[1x48x27x23]\nconst %w: f32[48x16x3x3]\n"
     "%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%s = Add(%c, %r)\n%y = Relu(%s)\noutput %y\n"},
    {"conv.7x7_stride_2_first_layer",
     "input %x: f32[1x3x31x29]\nconst %w: f32[16x3x7x7]\nconst %b: f32[16]\n"
     "%y = Conv(%x, %w, %b) {pads=[3,3,3,3], strides=[2,2]}\noutput %y\n"},
    {"conv.1x7",
     "input %x: f32[1x9x9x11]\nconst %w: f32[10x9x1x7]\n"
     "%y = Conv(%x, %w) {pads=[0,3,0,3]}\noutput %y\n"},
    {"conv.5x1_strides_differ",
     "input %x: f32[1x6x13x9]\nconst %w: f32[8x6x5x1]\n"
     "%y = Conv(%x, %w) {pads=[2,0,2,0], strides=[3,2]}\noutput %y\n"},
    {"conv.asymmetric_pads",
     "input %x: f32[1x6x9x9]\nconst %w: f32[8x6x3x3]\n"
     "%y = Conv(%x, %w) {pads=[0,1,2,0], strides=[2,2]}\noutput %y\n"},
    {"conv.same_upper",
     "input %x: f32[1x6x10x9]\nconst %w: f32[8x6x3x3]\n"
     "%y = Conv(%x, %w) {auto_pad=\"SAME_UPPER\", strides=[2,2]}\noutput %y\n"},
    {"conv.same_lower",
     "input %x: f32[1x6x10x9]\nconst %w: f32[8x6x4x4]\n"
     "%y = Conv(%x, %w) {auto_pad=\"SAME_LOWER\"}\noutput %y\n"},
    {"conv.valid",
     "input %x: f32[1x6x10x9]\nconst %w: f32[8x6x4x3]\n"
     "%y = Conv(%x, %w) {auto_pad=\"VALID\"}\noutput %y\n"},
    {"conv.dilated",
     "input %x: f32[1x7x13x12]\nconst %w: f32[9x7x3x3]\n"
     "%y = Conv(%x, %w) {dilations=[2,3], pads=[2,3,2,3]}\noutput %y\n"},
    {"conv.grouped",
     "input %x: f32[1x12x7x8]\nconst %w: f32[18x4x3x3]\nconst %b: f32[18]\n"
     "%y = Conv(%x, %w, %b) {group=3, pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.groups_of_four",
     "input %x: f32[2x20x7x9]\nconst %w: f32[20x4x3x3]\nconst %b: f32[20]\n"
     "%c = Conv(%x, %w, %b) {group=5, pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.groups_of_sixteen_residual",
     "input %x: f32[1x32x9x9]\ninput %r: f32[1x32x5x5]\nconst %w: f32[32x16x3x3]\n"
     "%c = Conv(%x, %w) {group=2, pads=[1,1,1,1], strides=[2,2]}\n%s = Add(%c, %r)\n"
     "%y = Relu(%s)\noutput %y\n"},
    {"conv.grouped_1x1_many_rows",
     "input %x: f32[2x150x9x31]\nconst %w: f32[74x75x1x1]\nconst %b: f32[74]\n"
     "%c = Conv(%x, %w, %b) {group=2}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.1x1_apart",
     "input %x: f32[2x70x13x47]\nconst %w: f32[33x70x1x1]\nconst %b: f32[33]\n"
     "%y = Conv(%x, %w, %b) {strides=[3,2]}\noutput %y\n"},
    {"conv.grouped_1x1",
     "input %x: f32[1x24x5x7]\nconst %w: f32[16x12x1x1]\n"
     "%y = Conv(%x, %w) {group=2}\noutput %y\n"},
    {"conv.1d",
     "input %x: f32[2x5x37]\nconst %w: f32[7x5x4]\nconst %b: f32[7]\n"
     "%y = Conv(%x, %w, %b) {dilations=[3], pads=[4,5], strides=[2]}\noutput %y\n"},
    {"conv.1d_1x1_scaled",
     "input %x: f32[2x6x19]\nconst %w: f32[9x6x1]\nconst %s: f32[9x1]\ninput %r: f32[2x9x19]\n"
     "%c = Conv(%x, %w)\n%m = Mul(%c, %s)\n%a = Add(%m, %r)\n%y = Relu(%a)\noutput %y\n"},
    {"conv.1d_two_channels",
     "input %x: f32[1x2x64]\nconst %w: f32[6x2x16]\nconst %b: f32[6]\n"
     "%c = Conv(%x, %w, %b) {strides=[8]}\n%y = Tanh(%c)\noutput %y\n"},
    {"conv.3d",
     "input %x: f32[1x3x5x6x7]\nconst %w: f32[4x3x3x2x3]\n"
     "%y = Conv(%x, %w) {pads=[1,0,1,1,1,1], strides=[1,2,1]}\noutput %y\n"},
    {"conv.3d_many_channels",
     "input %x: f32[1x5x4x5x7]\nconst %w: f32[70x5x3x3x3]\nconst %b: f32[70]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1,1,1], strides=[1,2,1]}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.3d_groups",
     "input %x: f32[2x16x3x4x9]\nconst %w: f32[40x8x1x3x3]\n"
     "%y = Conv(%x, %w) {group=2, pads=[0,1,2,0,1,2], dilations=[1,1,2]}\noutput %y\n"},
    {"conv.3d_3x3_planes",
     "input %x: f32[2x18x3x9x7]\ninput %r: f32[2x20x3x9x7]\nconst %w: f32[20x18x1x3x3]\n"
     "const %b: f32[20]\n%c = Conv(%x, %w, %b) {pads=[0,1,1,0,1,1]}\n%s = Add(%c, %r)\n"
     "%y = Relu(%s)\noutput %y\n"},
    {"conv.3d_3x3x3",
     "input %x: f32[2x32x5x9x10]\nconst %w: f32[24x32x3x3x3]\nconst %b: f32[24]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1,1,1]}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.3d_3x3x3_strided_planes",
     "input %x: f32[1x16x7x8x11]\nconst %w: f32[17x16x3x3x3]\n"
     "%y = Conv(%x, %w) {pads=[2,1,0,1,1,0], strides=[2,1,1], dilations=[2,1,1]}\noutput %y\n"},
    {"conv.no_input_channels",
     "input %x: f32[6x0x8x30]\nconst %w: f32[2x0x3x3]\nconst %b: f32[2]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,0]}\noutput %y\n"},
    {"conv.no_pixels",
     "input %x: f32[2x3x0x4]\nconst %w: f32[5x3x3x3]\nconst %b: f32[5]\n"
     "%y = Conv(%x, %w, %b) {pads=[2,1,2,1]}\noutput %y\n"},
    {"conv.planes_of_padding",
     "input %x: f32[2x3x1x5x8]\nconst %w: f32[4x3x1x1x3]\nconst %b: f32[4]\n"
     "%y = Conv(%x, %w, %b) {pads=[0,2,1,2,1,1], strides=[1,3,2]}\noutput %y\n"},
    {"conv.planes_of_padding_f16",
     "input %x: f16[2x1x1x5x8]\nconst %w: f16[1x1x1x1x3]\n"
     "%y = Conv(%x, %w) {pads=[0,2,1,2,1,1], strides=[1,3,2]}\noutput %y\n"},
    {"conv.planes_of_padding_3x3",
     "input %x: f32[1x20x1x9x9]\nconst %w: f32[24x20x1x3x3]\n"
     "%y = Conv(%x, %w) {pads=[1,1,1,1,1,1]}\noutput %y\n"},
    {"conv.3d_depthwise",
     "input %x: f32[2x20x4x6x9]\nconst %w: f32[20x1x3x3x3]\nconst %b: f32[20]\n"
     "%y = Conv(%x, %w, %b) {group=20, pads=[1,1,1,1,1,1]}\n%z = Relu(%y)\noutput %z\n"},
    {"conv.3d_depthwise_strided",
     "input %x: f32[1x17x5x7x11]\nconst %w: f32[17x1x2x5x3]\n"
     "%y = Conv(%x, %w) {group=17, pads=[0,2,1,1,2,1], strides=[1,2,2]}\noutput %y\n"},
    {"conv.planes_of_padding_depthwise",
     "input %x: f32[1x24x1x9x9]\nconst %w: f32[24x1x1x3x3]\n"
     "%y = Conv(%x, %w) {group=24, pads=[0,1,1,2,1,1]}\noutput %y\n"},
    {"conv.empty_batch",
     "input %x: f32[0x3x5x5]\nconst %w: f32[4x3x3x3]\n%y = Conv(%x, %w)\noutput %y\n"},
    {"conv.weights_not_constant",
     "input %x: f32[1x8x6x6]\ninput %w: f32[9x8x3x3]\n%y = Conv(%x, %w) {pads=[1,1,1,1]}\n"
     "output %y\n"},
    {"conv.weights_not_constant_1d_groups",
     "input %x: f32[2x6x17]\ninput %w: f32[4x3x4]\ninput %b: f32[4]\n"
     "%c = Conv(%x, %w, %b) {group=2, pads=[2,1]}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.f16",
     "input %x: f16[1x8x6x6]\nconst %w: f16[9x8x3x3]\nconst %b: f16[9]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n"},
};

constexpr Case kDepthwiseCases[] = {
    {"conv.depthwise_3x3",
     "input %x: f32[1x19x9x11]\nconst %w: f32[19x1x3x3]\nconst %b: f32[19]\n"
     "%y = Conv(%x, %w, %b) {group=19, pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.depthwise_3x3_stride_2",
     "input %x: f32[2x16x12x13]\nconst %w: f32[16x1x3x3]\n"
     "%y = Conv(%x, %w) {group=16, pads=[0,0,1,1], strides=[2,2]}\noutput %y\n"},
    {"conv.depthwise_5x5",
     "input %x: f32[1x33x7x7]\nconst %w: f32[33x1x5x5]\nconst %b: f32[33]\n"
     "%y = Conv(%x, %w, %b) {group=33, pads=[2,2,2,2]}\noutput %y\n"},
    {"conv.depthwise_dilated",
     "input %x: f32[1x8x11x11]\nconst %w: f32[8x1x3x3]\n"
     "%y = Conv(%x, %w) {dilations=[2,2], group=8, pads=[2,2,2,2]}\noutput %y\n"},
    {"conv.depthwise_5x5_stride_3",
     "input %x: f32[1x70x13x47]\nconst %w: f32[70x1x5x5]\nconst %b: f32[70]\n"
     "%y = Conv(%x, %w, %b) {group=70, pads=[2,3,2,2], strides=[3,3]}\noutput %y\n"},
    {"conv.depthwise_multiplier_2",
     "input %x: f32[1x5x6x7]\nconst %w: f32[10x1x3x3]\n"
     "%y = Conv(%x, %w) {group=5, pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.depthwise_1d",
     "input %x: f32[1x13x29]\nconst %w: f32[13x1x5]\n"
     "%y = Conv(%x, %w) {group=13, pads=[4,0]}\noutput %y\n"},
    {"conv.depthwise_7x7_one_pixel",
     "input %x: f32[1x3x1x1]\nconst %w: f32[3x1x7x7]\n"
     "%y = Conv(%x, %w) {group=3, pads=[3,3,3,3]}\noutput %y\n"},
    {"conv.depthwise_11x11_three_channels",
     "input %x: f32[2x3x17x41]\nconst %w: f32[3x1x11x11]\nconst %b: f32[3]\n"
     "%y = Conv(%x, %w, %b) {group=3, pads=[5,5,5,4]}\noutput %y\n"},
    {"conv.depthwise_7_channels_9_columns",
     "input %x: f32[1x7x5x23]\nconst %w: f32[7x1x2x9]\n"
     "%y = Conv(%x, %w) {group=7, pads=[1,0,0,8]}\noutput %y\n"},
    {"conv.depthwise_multiplier_2_three_channels",
     "input %x: f32[1x3x9x67]\nconst %w: f32[6x1x5x3]\nconst %b: f32[6]\n"
     "%y = Conv(%x, %w, %b) {group=3, pads=[2,1,2,1]}\n%z = Relu(%y)\noutput %z\n"},
    {"conv.one_channel_to_two_129_rows",
     "input %x: f32[1x1x70x19]\nconst %w: f32[2x1x129x1]\nconst %b: f32[2]\n"
     "%y = Conv(%x, %w, %b) {pads=[64,0,64,0]}\noutput %y\n"},
    {"conv.depthwise_4x4_stride_2_three_channels",
     "input %x: f32[2x3x15x43]\nconst %w: f32[3x1x4x4]\nconst %b: f32[3]\n"
     "%y = Conv(%x, %w, %b) {group=3, pads=[1,2,3,0], strides=[2,2]}\noutput %y\n"},
    {"conv.one_channel_strided_and_dilated",
     "input %x: f32[1x1x23x71]\nconst %w: f32[2x1x3x5]\n"
     "%y = Conv(%x, %w) {dilations=[4,2], pads=[9,1,2,30], strides=[2,3]}\noutput %y\n"},
    {"conv.one_channel_rows_apart",
     "input %x: f32[1x1x29x33]\nconst %w: f32[1x1x2x3]\nconst %b: f32[1]\n"
     "%y = Conv(%x, %w, %b) {dilations=[1,3], pads=[5,2,6,2], strides=[5,1]}\noutput %y\n"},
    {"conv.one_channel_to_five",
     "input %x: f32[2x1x13x101]\nconst %w: f32[5x1x3x4]\n"
     "%y = Conv(%x, %w) {pads=[1,2,1,1]}\noutput %y\n"},
    {"conv.one_channel_301_rows",
     "input %x: f32[1x1x310x3]\nconst %w: f32[1x1x301x2]\n%y = Conv(%x, %w)\noutput %y\n"},
};

constexpr Case kGroupCases[] = {
    {"conv.3x3_relu",
     "input %x: f32[1x8x12x12]\nconst %w: f32[16x8x3x3]\nconst %b: f32[16]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n"},
    {"conv.1x1_add_relu",
     "input %x: f32[1x17x6x7]\ninput %r: f32[1x13x6x7]\nconst %w: f32[13x17x1x1]\n"
     "const %b: f32[13]\n%c = Conv(%x, %w, %b)\n%s = Add(%c, %r)\n%y = Relu(%s)\noutput %y\n"},
    {"conv.1x1_add_of_left_operand",
     "input %x: f32[1x17x6x7]\ninput %r: f32[1x13x6x7]\nconst %w: f32[13x17x1x1]\n"
     "%c = Conv(%x, %w)\n%y = Add(%r, %c)\noutput %y\n"},
    {"conv.3x3_add_of_its_few_input_channels",
     "input %x: f32[1x3x9x11]\nconst %w: f32[3x3x3x3]\nconst %b: f32[3]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Add(%x, %c)\noutput %y\n"},
    {"conv.3x3_clip",
     "input %x: f32[1x7x9x9]\nconst %w: f32[9x7x3x3]\nconst %b: f32[9]\n"
     "const %l: f32[] = 0\nconst %h: f32[] = 6\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Clip(%c, %l, %h)\noutput %y\n"},
    {"conv.3x3_hardswish",
     "input %x: f32[1x7x9x9]\nconst %w: f32[9x7x3x3]\nconst %b: f32[9]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,2]}\n%y = HardSwish(%c)\noutput %y\n"},
    {"conv.3x3_silu",
     "input %x: f32[1x7x9x9]\nconst %w: f32[9x7x3x3]\n"
     "%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%s = Sigmoid(%c)\n%y = Mul(%c, %s)\noutput %y\n"},
    {"conv.3x3_clip_over_zero",
     "input %x: f32[2x19x10x9]\nconst %w: f32[21x19x3x3]\nconst %b: f32[21]\n"
     "const %l: f32[] = 0.25\nconst %h: f32[] = 1\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Clip(%c, %l, %h)\noutput %y\n"},
    {"conv.3x3_scaled_by_channel_and_pixel",
     "input %x: f32[2x24x9x13]\ninput %r: f32[2x40x1x1]\ninput %p: f32[1x1x9x13]\n"
     "const %w: f32[40x24x3x3]\n%c = Conv(%x, %w) {pads=[1,1,1,1]}\n"
     "%s = Mul(%c, %r)\n%y = Add(%s, %p)\noutput %y\n"},
    {"conv.depthwise_sum_over_zero",
     "input %x: f32[2x35x9x8]\ninput %r: f32[2x35x5x4]\nconst %w: f32[35x1x3x3]\n"
     "const %l: f32[] = 0.5\n%c = Conv(%x, %w) {group=35, pads=[1,1,1,1], strides=[2,2]}\n"
     "%s = Add(%c, %r)\n%y = Clip(%s, %l)\noutput %y\n"},
    {"conv.depthwise_clip",
     "input %x: f32[1x21x9x9]\nconst %w: f32[21x1x3x3]\nconst %b: f32[21]\n"
     "const %l: f32[] = 0\nconst %h: f32[] = 6\n"
     "%c = Conv(%x, %w, %b) {group=21, pads=[1,1,1,1]}\n%y = Clip(%c, %l, %h)\noutput %y\n"},
    {"conv.depthwise_leaky_relu",
     "input %x: f32[1x9x8x8]\nconst %w: f32[9x1x3x3]\n"
     "%c = Conv(%x, %w) {group=9, pads=[1,1,1,1]}\n%y = LeakyRelu(%c) {alpha=0.2}\noutput %y\n"},
    {"conv.3x3_prelu",
     "input %x: f32[1x5x8x8]\nconst %w: f32[7x5x3x3]\nconst %s: f32[7x1x1]\n"
     "%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%y = PRelu(%c, %s)\noutput %y\n"},
};

constexpr Case kOtherCases[] = {
    {"conv.integer_u8_u8",
     "input %x: u8[1x3x7x8] = noise(0, 255)\nconst %w: u8[5x3x3x3] = noise(0, 255)\n"
     "const %xz: u8[] = 128\n%y = ConvInteger(%x, %w, %xz) {pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.integer_per_channel",
     "input %x: u8[2x4x7x8] = noise(0, 255)\nconst %w: i8[6x2x3x3] = noise(-128, 127)\n"
     "const %xz: u8[] = 3\nconst %wz: i8[6] = 0 1 -2 3 -4 5\n"
     "%y = ConvInteger(%x, %w, %xz, %wz) {group=2, strides=[2,1]}\noutput %y\n"},
    {"conv.integer_groups",
     "input %x: i8[2x24x7x8] = noise(-128, 127)\nconst %w: u8[16x3x3x2] = noise(0, 255)\n"
     "const %xz: i8[] = -5\nconst %wz: u8[16] = noise(0, 255)\n"
     "%y = ConvInteger(%x, %w, %xz, %wz) {group=8, pads=[1,0,1,1]}\noutput %y\n"},
    {"conv.deform_3x3",
     "input %x: f32[1x6x7x8]\nconst %w: f32[4x6x3x3]\ninput %o: f32[1x18x7x8] = noise(-2, 2)\n"
     "const %b: f32[4]\ninput %m: f32[1x9x7x8]\n"
     "%y = DeformConv(%x, %w, %o, %b, %m) {pads=[1,1,1,1]}\noutput %y\n"},
    {"conv.deform_grouped",
     "input %x: f32[2x4x7x6]\nconst %w: f32[6x2x2x3]\ninput %o: f32[2x24x3x4] = noise(-1, 1)\n"
     "%y = DeformConv(%x, %w, %o) {group=2, offset_group=2, strides=[2,1]}\noutput %y\n"},
    {"conv.deform_dilated",
     "input %x: f32[1x3x9x8]\n"
     "input %w: f32[5x3x2x2]\n"
     "input %o: f32[1x8x9x7] = noise(-3, 3)\n"
     "input %b: f32[5]\n"
     "%y = DeformConv(%x, %w, %o, %b) {dilations=[2,3], pads=[1,1,1,1]}\n"
     "output %y\n"},
    {"conv.deform_wide",
     "input %x: f32[2x40x9x11]\nconst %w: f32[34x20x3x3]\n"
     "input %o: f32[2x36x9x11] = noise(-3, 3)\nconst %b: f32[34]\ninput %m: f32[2x18x9x11]\n"
     "%y = DeformConv(%x, %w, %o, %b, %m) {group=2, offset_group=2, pads=[1,1,1,1]}\n"
     "output %y\n"},
    {"conv.deform_half",
     "input %x: f16[1x2x5x5]\n"
     "const %w: f16[3x2x1x1]\n"
     "input %o: f16[1x2x5x5] = noise(-9, 9)\n"
     "%y = DeformConv(%x, %w, %o)\n"
     "output %y\n"},
    {"conv.1x1_bench",
     "input %x: f32[1x256x28x28]\nconst %w: f32[128x256x1x1]\nconst %b: f32[128]\n"
     "%y = Conv(%x, %w, %b)\noutput %y\n",
     true},
    {"conv.1x1_wide_bench",
     "input %x: f32[1x960x7x7]\nconst %w: f32[320x960x1x1]\nconst %b: f32[320]\n"
     "%y = Conv(%x, %w, %b)\noutput %y\n",
     true},
    {"conv.3x3_bench",
     "input %x: f32[1x64x56x56]\nconst %w: f32[64x64x3x3]\nconst %b: f32[64]\n"
     "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n",
     true},
    {"conv.3x3_stride_2_bench",
     "input %x: f32[1x128x56x56]\nconst %w: f32[128x128x3x3]\nconst %b: f32[128]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,2]}\noutput %y\n",
     true},
    {"conv.7x7_first_layer_bench",
     "input %x: f32[1x3x224x224]\nconst %w: f32[64x3x7x7]\nconst %b: f32[64]\n"
     "%c = Conv(%x, %w, %b) {pads=[3,3,3,3], strides=[2,2]}\n%y = Relu(%c)\noutput %y\n",
     true},
    {"conv.groups_of_four_bench",
     "input %x: f32[1x128x56x56]\nconst %w: f32[128x4x3x3]\nconst %b: f32[128]\n"
     "%c = Conv(%x, %w, %b) {group=32, pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n",
     true},
    {"conv.depthwise_3x3_bench",
     "input %x: f32[1x144x56x56]\nconst %w: f32[144x1x3x3]\nconst %b: f32[144]\n"
     "const %l: f32[] = 0\nconst %h: f32[] = 6\n"
     "%c = Conv(%x, %w, %b) {group=144, pads=[1,1,1,1]}\n%y = Clip(%c, %l, %h)\noutput %y\n",
     true},
    {"conv.depthwise_11x11_three_channels_bench",
     "input %x: f32[1x3x266x266]\nconst %w: f32[3x1x11x11]\n"
     "%y = Conv(%x, %w) {group=3}\noutput %y\n",
     true},
    {"conv.depthwise_5x5_stride_2_bench",
     "input %x: f32[1x240x28x28]\nconst %w: f32[240x1x5x5]\nconst %b: f32[240]\n"
     "%y = Conv(%x, %w, %b) {group=240, pads=[2,2,2,2], strides=[2,2]}\noutput %y\n",
     true},
    {"conv.1x1_rows_pages_apart",
     "input %x: f32[1x35x46x46]\nconst %w: f32[17x35x1x1]\nconst %b: f32[17]\n"
     "%y = Conv(%x, %w, %b)\noutput %y\n"},
};

}  // namespace

std::span<const Case> ConvCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (std::span<const Case> part :
         {std::span<const Case>(kShapeCases), std::span<const Case>(kDepthwiseCases),
          std::span<const Case>(kGroupCases), std::span<const Case>(kOtherCases)}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return cases;
}

}  // namespace fettle::ops
