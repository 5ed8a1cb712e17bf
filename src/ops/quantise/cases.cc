#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> QuantiseCases() {
  static constexpr Case kCases[] = {
      {"quantise.average_pool_qdq",
       "input %x: u8[1x21x9x11] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %t: f32[] = 0.03\nconst %v: u8[] = 7\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = AveragePool(%d) {kernel_shape=[3,3], pads=[1,1,1,1]}\n%y = QuantizeLinear(%r, %t, "
       "%v)\noutput %y\n"},
      {"quantise.global_average_qdq",
       "input %x: u8[2x37x7x9] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %t: f32[] = 0.03\nconst %v: u8[] = 7\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = GlobalAveragePool(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.gemm_qdq_negative_scale",
       "input %x: u8[9x37] = noise(0, 255)\nconst %w: i8[19x37] = noise(-127, 127)\n"
       "const %sx: f32[] = -0.02\nconst %zx: u8[] = 121\nconst %sw: f32[19] = noise(-0.01, 0.01)\n"
       "const %zw: i8[19] = splat 0\nconst %b: f32[19]\nconst %sy: f32[] = -0.05\n"
       "const %zy: u8[] = 100\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
       "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%c = Gemm(%dx, %dw, %b) {transB=1}\n"
       "%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"},
      {"quantise.max_pool_qdq",
       "input %x: u8[1x21x9x11] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %t: f32[] = 0.03\nconst %v: u8[] = 7\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = MaxPool(%d) {kernel_shape=[2,2], strides=[2,2]}\n%y = QuantizeLinear(%r, %t, "
       "%v)\noutput %y\n"},
      {"quantise.resize_qdq",
       "input %x: u8[1x5x7x9] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %t: f32[] = 0.03\nconst %v: u8[] = 7\nconst %k: f32[4] = 1 1 2 2\n%d = "
       "DequantizeLinear(%x, %s, %z)\n"
       "%r = Resize(%d, _, %k) {mode=\"linear\"}\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.mul_qdq_by_channel",
       "input %a: u8[2x37x5x7] = noise(0, 255)\ninput %b: u8[2x37x1x1] = noise(0, 255)\n"
       "const %sa: f32[] = 0.021\nconst %sb: f32[] = 0.004\nconst %sy: f32[] = 0.013\n"
       "const %z: u8[] = 128\nconst %n: u8[] = 0\n%x = DequantizeLinear(%a, %sa, %z)\n"
       "%w = DequantizeLinear(%b, %sb, %n)\n%s = Mul(%x, %w)\n"
       "%y = QuantizeLinear(%s, %sy, %z)\noutput %y\n"},
      {"quantise.sub_qdq_clip",
       "input %a: u8[37x65] = noise(0, 255)\ninput %b: u8[37x65] = noise(0, 255)\n"
       "const %sa: f32[] = 0.021\nconst %sb: f32[] = 0.033\nconst %sy: f32[] = 0.021\n"
       "const %z: u8[] = 90\nconst %l: f32[] = -1\nconst %m: f32[] = 2\n"
       "%x = DequantizeLinear(%a, %sa, %z)\n%w = DequantizeLinear(%b, %sb, %z)\n"
       "%s = Sub(%x, %w)\n%c = Clip(%s, %l, %m)\n%y = QuantizeLinear(%c, %sy, %z)\noutput %y\n"},
      {"quantise.softmax_qdq",
       "input %x: u8[2x3x29x50] = noise(0, 255)\nconst %s: f32[] = 0.043\nconst %z: u8[] = 121\n"
       "const %t: f32[] = 0.0039\nconst %v: u8[] = 0\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Softmax(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.softmax_qdq_axes",
       "input %x: u8[4x19x3] = noise(0, 255)\nconst %s: f32[] = 0.05\nconst %z: u8[] = 7\n"
       "const %t: f32[] = 0.0039\nconst %v: u8[] = 0\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Softmax(%d) {axis=1}\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.softmax_qdq_bench",
       "input %x: u8[8x128x128] = noise(0, 255)\nconst %s: f32[] = 0.03\nconst %z: u8[] = 121\n"
       "const %t: f32[] = 0.0039\nconst %v: u8[] = 0\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Softmax(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.softmax_qdq_signed",
       "input %x: i8[7x16] = noise(-128, 127)\nconst %s: f32[] = 0.021\nconst %z: i8[] = -4\n"
       "const %t: f32[] = 0.0031\nconst %v: i8[] = -128\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Softmax(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.softmax_qdq_wide",
       "input %x: i8[5x331] = noise(-128, 127)\nconst %s: f32[] = 0.11\nconst %z: i8[] = 3\n"
       "const %t: f32[] = 0.000018\nconst %v: u8[] = 3\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Softmax(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.sigmoid_qdq",
       "input %x: u8[1x21x9x11] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %t: f32[] = 0.03\nconst %v: u8[] = 7\n%d = DequantizeLinear(%x, %s, %z)\n"
       "%r = Sigmoid(%d)\n%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.add_qdq",
       "input %a: u8[2x5x7] = noise(0, 255)\ninput %b: u8[2x5x7] = noise(0, 255)\n"
       "const %sa: f32[] = 0.02\nconst %sb: f32[] = 0.03\nconst %sy: f32[] = 0.05\n"
       "const %z: u8[] = 128\n%x = DequantizeLinear(%a, %sa, %z)\n"
       "%w = DequantizeLinear(%b, %sb, %z)\n%s = Add(%x, %w)\n"
       "%y = QuantizeLinear(%s, %sy, %z)\noutput %y\n"},
      {"quantise.add_qdq_relu_signed",
       "input %a: i8[2x35x5x7] = noise(-128, 127)\ninput %b: u8[2x35x5x7] = noise(0, 255)\n"
       "const %sa: f32[] = 0.021\nconst %sb: f32[] = 0.033\nconst %sy: f32[] = 0.047\n"
       "const %za: i8[] = 5\nconst %zb: u8[] = 131\nconst %zy: i8[] = -99\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%s = Add(%x, %w)\n%r = Relu(%s)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"},
      {"quantise.add_qdq_long",
       "input %a: u8[3x21863] = noise(0, 255)\ninput %b: i8[3x21863] = noise(-128, 127)\n"
       "const %sa: f32[] = 0.0137\nconst %sb: f32[] = 0.0191\nconst %sy: f32[] = 0.0223\n"
       "const %za: u8[] = 119\nconst %zb: i8[] = 4\n%x = DequantizeLinear(%a, %sa, %za)\n"
       "%w = DequantizeLinear(%b, %sb, %zb)\n%s = Add(%x, %w)\n"
       "%y = QuantizeLinear(%s, %sy, %zb)\noutput %y\n"},
      {"quantise.sub_qdq_long",
       "input %a: u8[3x21863] = noise(0, 255)\ninput %b: i8[3x21863] = noise(-128, 127)\n"
       "const %sa: f32[] = 0.0137\nconst %sb: f32[] = 0.0191\nconst %sy: f32[] = 0.0223\n"
       "const %za: u8[] = 119\nconst %zb: i8[] = 4\n%x = DequantizeLinear(%a, %sa, %za)\n"
       "%w = DequantizeLinear(%b, %sb, %zb)\n%s = Sub(%x, %w)\n"
       "%y = QuantizeLinear(%s, %sy, %za)\noutput %y\n"},
      {"quantise.batch_norm_qdq",
       "input %q: u8[2x35x5x7] = noise(0, 255)\nconst %sx: f32[] = 0.02\nconst %zx: u8[] = 120\n"
       "const %s: f32[35]\nconst %b: f32[35]\nconst %m: f32[35]\nconst %v: f32[35] = noise(0.5, "
       "2)\n"
       "const %sy: f32[] = 0.03\nconst %zy: u8[] = 7\n%x = DequantizeLinear(%q, %sx, %zx)\n"
       "%n = BatchNormalization(%x, %s, %b, %m, %v)\n%r = Relu(%n)\n"
       "%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"},
      {"quantise.concat_tables",
       "input %a: u8[2x32x5x7] = noise(0, 255)\ninput %b: i8[2x16x5x7] = noise(-128, 127)\n"
       "input %c: u8[2x21x5x7] = noise(0, 255)\nconst %t: u8[256] = noise(0, 255)\n"
       "const %u: u8[256] = noise(0, 255)\n%p = TableLookup(%a, %t)\n%q = TableLookup(%b, %u)\n"
       "%y = Concat(%p, %c, %q) {axis=1}\noutput %y\n"},
      {"quantise.conv_qdq",
       "input %x: u8[1x5x9x11] = noise(0, 255)\nconst %w: i8[7x5x3x3] = noise(-127, 127)\n"
       "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[7] = noise(0.001, 0.01)\n"
       "const %zw: i8[7] = splat 0\nconst %sy: f32[] = 0.05\nconst %zy: u8[] = 100\n"
       "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n"
       "%c = Conv(%dx, %dw) {pads=[1,1,1,1]}\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.conv_qdq_many_channels",
       "input %x: i8[2x37x7x6] = noise(-128, 127)\nconst %w: i8[41x37x3x3] = noise(-127, 127)\n"
       "const %sx: f32[] = 0.02\nconst %zx: i8[] = 11\nconst %sw: f32[41] = noise(0.001, 0.01)\n"
       "const %zw: i8[41] = noise(-9, 9)\nconst %sy: f32[] = 0.3\nconst %zy: i8[] = -7\n"
       "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n"
       "%c = Conv(%dx, %dw) {pads=[1,1,1,1]}\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.depthwise_qdq_to_floats",
       "input %x: u8[2x35x7x6] = noise(0, 255)\nconst %w: i8[35x1x3x3] = noise(-127, 127)\n"
       "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[35] = noise(0.001, 0.01)\n"
       "const %zw: i8[35] = splat 0\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
       "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n"
       "%c = Conv(%dx, %dw) {group=35, pads=[1,1,1,1]}\n%y = Sigmoid(%c)\noutput %y\n"},
      {"quantise.conv_qdq_bias_first",
       "input %x: i8[1x3x6x7]\nconst %b: i32[4] = 300 -200 100 0\n"
       "const %sb: f32[4] = 0.002 0.004 0.006 0.008\nconst %zb: i32[4] = 0 0 0 0\n"
       "const %w: i8[4x3x1x1] = 8 -24 20 -64 5 14 -22 19 53 75 -62 93\n"
       "const %sw: f32[4] = 0.1 0.2 0.3 0.4\nconst %zw: i8[4] = 0 0 0 0\n"
       "const %sx: f32[] = 0.02\nconst %zx: i8[] = -5\nconst %sy: f32[] = 0.1\n"
       "const %zy: i8[] = -128\n%db = DequantizeLinear(%b, %sb, %zb) {axis=0}\n"
       "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
       "%c = Conv(%dx, %dw, %db)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.conv_qdq_residual",
       "input %x: u8[2x37x7x6] = noise(0, 255)\ninput %o: u8[2x41x7x6] = noise(0, 255)\n"
       "const %w: i8[41x37x1x1] = noise(-127, 127)\nconst %sx: f32[] = 0.02\n"
       "const %zx: u8[] = 121\nconst %sw: f32[41] = noise(0.001, 0.01)\n"
       "const %zw: i8[41] = splat 0\nconst %sc: f32[] = 0.07\nconst %zc: u8[] = 100\n"
       "const %so: f32[] = 0.033\nconst %zo: u8[] = 90\nconst %sy: f32[] = 0.091\n"
       "const %zy: u8[] = 3\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
       "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%c = Conv(%dx, %dw)\n"
       "%q = QuantizeLinear(%c, %sc, %zc)\n%dq = DequantizeLinear(%q, %sc, %zc)\n"
       "%do = DequantizeLinear(%o, %so, %zo)\n%s = Add(%dq, %do)\n%r = Relu(%s)\n"
       "%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"},
      {"quantise.dequantise_blocked_u4",
       "const %x: u4[5x37] = noise(0, 15)\nconst %s: f32[5x3] = noise(0.01, 0.1)\n"
       "const %z: u4[5x3] = noise(0, 15)\n"
       "%y = DequantizeLinear(%x, %s, %z) {axis=1, block_size=16}\noutput %y\n"},
      {"quantise.dequantise_computed_blocks",
       "input %x: i8[3x64x5] = noise(-128, 127)\ninput %s: f32[3x4x5] = noise(0.01, 0.1)\n"
       "input %z: i8[3x4x5] = noise(-9, 9)\n"
       "%y = DequantizeLinear(%x, %s, %z) {axis=1, block_size=16}\noutput %y\n"},
      {"quantise.dequantise_one_block",
       "input %x: u4[3x2x16x5] = noise(0, 15)\ninput %s: f16[3x2x1x5] = noise(0.01, 0.1)\n"
       "input %z: u4[3x2x1x5] = noise(0, 15)\n"
       "%y = DequantizeLinear(%x, %s, %z) {axis=2, block_size=16}\noutput %y\n"},
      {"quantise.dequantise_i32",
       "input %x: i32[3x37] = noise(-9999, 9999)\nconst %s: f32[] = 0.001\n"
       "%y = DequantizeLinear(%x, %s)\noutput %y\n"},
      {"quantise.dequantise_i8_axis",
       "input %x: i8[3x5x7] = noise(-128, 127)\nconst %s: f32[5] = noise(0.01, 0.1)\n"
       "const %z: i8[5] = noise(-9, 9)\n%y = DequantizeLinear(%x, %s, %z) {axis=1}\noutput %y\n"},
      {"quantise.dequantise_u8_bench",
       "input %x: u8[1x64x112x112] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 128\n"
       "%y = DequantizeLinear(%x, %s, %z)\noutput %y\n",
       true},
      {"quantise.dynamic",
       "input %x: f32[3x37] = noise(-2, 5)\n%y, %s, %z = DynamicQuantizeLinear(%x)\n"
       "output %y\noutput %s\noutput %z\n"},
      {"quantise.dynamic_conv",
       "input %x: u8[1x5x7x9] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
       "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[6x5x3x3] = noise(-9, 9)\n"
       "const %b: f32[1x6x1x1]\n%c = ConvInteger(%x, %w, %z) {pads=[1,1,1,1]}\n"
       "%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%f, %s)\n%y = Add(%m, %b)\noutput %y\n"},
      {"quantise.dynamic_groups",
       "input %x: u8[1x30x7x9] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
       "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[36x5x3x3] = noise(-9, 9)\n"
       "const %b: f32[1x36x1x1]\n%c = ConvInteger(%x, %w, %z) {group=6, pads=[1,1,1,1]}\n"
       "%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%f, %s)\n%a = Add(%m, %b)\n"
       "%y = Relu(%a)\noutput %y\n"},
      {"quantise.dynamic_channel_multiplier",
       "input %x: u8[2x12x7x9] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
       "input %s: f32[1x36x1x1] = noise(0.001, 0.01)\nconst %w: i8[36x1x3x3] = noise(-9, 9)\n"
       "const %l: f32[] = -0.5\nconst %h: f32[] = 0.75\n"
       "%c = ConvInteger(%x, %w, %z) {group=12, pads=[1,1,1,1]}\n"
       "%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%s, %f)\n%y = Clip(%m, %l, %h)\noutput %y\n"},
      {"quantise.dynamic_depthwise",
       "input %x: u8[1x21x7x9] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
       "input %s: f32[] = noise(0.001, 0.01)\nconst %w: u8[21x1x3x3] = noise(0, 255)\n"
       "const %v: u8[] = 127\n%c = ConvInteger(%x, %w, %z, %v) {group=21, strides=[2,2], "
       "pads=[1,1,1,1]}\n%f = Cast(%c) {to=\"f32\"}\n%y = Mul(%f, %s)\noutput %y\n"},
      {"quantise.dynamic_matmul",
       "input %x: u8[3x7x37] = noise(100, 150)\ninput %z: u8[] = noise(120, 130)\n"
       "input %s: f32[] = noise(0.001, 0.01)\nconst %w: i8[37x22] = noise(-9, 9)\n"
       "const %b: f32[22]\n%c = MatMulInteger(%x, %w, %z)\n"
       "%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%f, %s)\n%y = Add(%m, %b)\noutput %y\n"},
      {"quantise.dynamic_pixels",
       "input %x: f32[2x37x13x11] = noise(-2, 5)\n%y, %s, %z = DynamicQuantizeLinear(%x)\n"
       "output %y\noutput %s\noutput %z\n"},
      {"quantise.gemm_qdq",
       "input %x: u8[9x37] = noise(0, 255)\nconst %w: i8[19x37] = noise(-127, 127)\n"
       "const %sx: f32[] = 0.02\nconst %zx: u8[] = 121\nconst %sw: f32[19] = noise(0.001, 0.01)\n"
       "const %zw: i8[19] = splat 0\nconst %b: f32[19]\nconst %sy: f32[] = 0.05\n"
       "const %zy: u8[] = 100\n%dx = DequantizeLinear(%x, %sx, %zx)\n"
       "%dw = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%c = Gemm(%dx, %dw, %b) {transB=1}\n"
       "%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.image_of_2_channels",
       "input %x: f32[1x2x7x3] = noise(-3, 3)\nconst %s: f32[] = 0.03125\n"
       "const %z: u8[] = 100\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.image_of_3_channels",
       "input %x: f32[2x3x17x13] = noise(-3, 3)\nconst %s: f32[] = 0.0199\n"
       "const %z: u8[] = 128\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.image_of_4_channels",
       "input %x: f32[1x4x19x11] = noise(-3, 3)\nconst %s: f32[] = 0.0203\n"
       "const %z: i8[] = -7\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.layer_norm_qdq",
       "input %x: u8[2x37x65] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %a: f32[65]\nconst %b: f32[65]\nconst %t: f32[] = 0.03\nconst %v: i8[] = 7\n"
       "%d = DequantizeLinear(%x, %s, %z)\n%r = LayerNormalization(%d, %a, %b)\n"
       "%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.layer_norm_qdq_bench",
       "input %x: u8[128x256] = noise(0, 255)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 120\n"
       "const %a: f32[256]\nconst %b: f32[256]\nconst %t: f32[] = 0.03\nconst %v: u8[] = 120\n"
       "%d = DequantizeLinear(%x, %s, %z)\n%r = LayerNormalization(%d, %a, %b)\n"
       "%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.layer_norm_qdq_of_squares",
       "input %x: i8[5x3x19] = noise(-128, 127)\nconst %s: f32[] = 0.02\nconst %z: i8[] = -3\n"
       "const %a: f32[3x19]\nconst %t: f32[] = 0.03\nconst %v: u8[] = 128\n"
       "%d = DequantizeLinear(%x, %s, %z)\n%r = RMSNormalization(%d, %a) {axis=1}\n"
       "%y = QuantizeLinear(%r, %t, %v)\noutput %y\n"},
      {"quantise.matmul_of_bytes",
       "input %a: u8[2x3x29x37] = noise(0, 255)\ninput %b: u8[2x3x37x41] = noise(0, 255)\n"
       "const %sa: f32[] = 0.02\nconst %za: u8[] = 121\nconst %sb: f32[] = 0.01\n"
       "const %zb: u8[] = 131\nconst %sy: f32[] = 0.07\nconst %zy: u8[] = 90\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%c = MatMul(%x, %w)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_of_bytes_bench",
       "input %a: u8[8x128x128] = noise(0, 255)\ninput %b: u8[8x128x64] = noise(0, 255)\n"
       "const %sa: f32[] = 0.0039\nconst %za: u8[] = 0\nconst %sb: f32[] = 0.01\n"
       "const %zb: u8[] = 131\nconst %sy: f32[] = 0.05\nconst %zy: u8[] = 120\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%c = MatMul(%x, %w)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_of_bytes_broadcast",
       "input %a: u8[3x1x7x64] = noise(0, 255)\ninput %b: i8[2x64x9] = noise(-128, 127)\n"
       "const %sa: f32[] = 0.02\nconst %za: u8[] = 0\nconst %sb: f32[] = 0.01\n"
       "const %zb: i8[] = 0\nconst %sy: f32[] = 0.1\nconst %zy: i8[] = -5\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%c = MatMul(%x, %w)\n%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_of_bytes_floats",
       "input %a: i8[3x17x35] = noise(-128, 127)\ninput %b: u8[3x35x50] = noise(0, 255)\n"
       "const %sa: f32[] = 0.02\nconst %za: i8[] = -3\nconst %sb: f32[] = 0.01\n"
       "const %zb: u8[] = 128\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%y = MatMul(%x, %w)\noutput %y\n"},
      {"quantise.matmul_of_bytes_signed",
       "input %a: i8[5x300x21] = noise(-128, 127)\ninput %b: i8[21x37] = noise(-128, 127)\n"
       "const %sa: f32[] = 0.02\nconst %za: i8[] = 7\nconst %sb: f32[] = 0.01\n"
       "const %zb: i8[] = -11\nconst %sy: f32[] = 0.06\nconst %zy: i8[] = 3\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%c = MatMul(%x, %w)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_of_bytes_transposed",
       "input %a: u8[19x34] = noise(0, 255)\ninput %b: i8[23x34] = noise(-128, 127)\n"
       "const %sa: f32[] = 0.02\nconst %za: u8[] = 111\nconst %sb: f32[] = 0.01\n"
       "const %zb: i8[] = 4\nconst %sy: f32[] = 0.05\nconst %zy: u8[] = 128\n"
       "%x = DequantizeLinear(%a, %sa, %za)\n%w = DequantizeLinear(%b, %sb, %zb)\n"
       "%c = Gemm(%x, %w) {transB=1}\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_qdq",
       "input %x: i8[2x5x24] = noise(-128, 127)\nconst %w: u8[24x18] = noise(0, 255)\n"
       "const %sx: f32[] = 0.02\nconst %zx: i8[] = -9\nconst %sw: f32[] = 0.01\n"
       "const %zw: u8[] = 120\nconst %sy: f32[] = 0.1\nconst %zy: i8[] = 3\n"
       "%dx = DequantizeLinear(%x, %sx, %zx)\n%dw = DequantizeLinear(%w, %sw, %zw)\n"
       "%c = MatMul(%dx, %dw)\n%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n"},
      {"quantise.matmul_weights_i8",
       "input %x: f32[2x9x37]\nconst %w: i8[37x41] = noise(-127, 127)\n"
       "const %s: f32[41] = noise(0.001, 0.01)\n%d = DequantizeLinear(%w, %s)\n"
       "%y = MatMul(%x, %d)\noutput %y\n"},
      {"quantise.matmul_weights_u4",
       "input %x: f32[3x100]\nconst %w: u4[100x41] = noise(0, 15)\n"
       "const %s: f32[4x41] = noise(0.01, 0.1)\nconst %z: u4[4x41] = noise(0, 15)\n"
       "%d = DequantizeLinear(%w, %s, %z) {axis=0, block_size=32}\n%m = MatMul(%x, %d)\n"
       "%y = Relu(%m)\noutput %y\n"},
      {"quantise.matmul_weights_u4_bench",
       "input %x: f32[1x4096]\nconst %w: u4[4096x4096] = noise(0, 15)\n"
       "const %s: f32[128x4096] = noise(0.01, 0.1)\nconst %z: u4[128x4096] = splat 8\n"
       "%d = DequantizeLinear(%w, %s, %z) {axis=0, block_size=32}\n%y = MatMul(%x, %d)\n"
       "output %y\n",
       true},
      {"quantise.table",
       "input %x: u8[2x37x5x7] = noise(0, 255)\nconst %t: u8[256] = noise(0, 255)\n"
       "%y = TableLookup(%x, %t)\noutput %y\n"},
      {"quantise.table_bench",
       "input %x: u8[1x64x112x112] = noise(0, 255)\nconst %t: u8[256] = noise(0, 255)\n"
       "%y = TableLookup(%x, %t)\noutput %y\n",
       true},
      {"quantise.table_empty",
       "input %x: u8[0x3]\nconst %t: i8[256] = noise(-128, 127)\n%y = TableLookup(%x, %t)\n"
       "output %y\n"},
      {"quantise.table_of_signed",
       "input %x: i8[1031] = noise(-128, 127)\nconst %t: u8[256] = noise(0, 255)\n"
       "%y = TableLookup(%x, %t)\noutput %y\n"},
      {"quantise.table_one",
       "input %x: i8[] = noise(-128, 127)\nconst %t: i8[256] = noise(-128, 127)\n%y = "
       "TableLookup(%x, %t)\n"
       "output %y\n"},
      {"quantise.f16_to_i8",
       "input %x: f16[3x37]\nconst %s: f16[] = 0.01\nconst %z: i8[] = 3\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.to_default_type",
       "input %x: f32[37]\nconst %s: f32[] = 0.01\n%y = QuantizeLinear(%x, %s)\noutput %y\n"},
      {"quantise.to_f8",
       "input %x: f32[37] = noise(-900, 900)\nconst %s: f32[] = 0.5\nconst %z: f8e4m3fn[] = 0.0\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.to_i16",
       "input %x: f32[37]\nconst %s: f32[] = 0.0001\nconst %z: i16[] = 7\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"quantise.to_i8_one_block",
       "input %x: f32[3x2x16x5]\ninput %s: f32[3x2x1x5] = noise(0.01, 0.1)\n"
       "const %z: i8[3x2x1x5] = noise(-9, 9)\n"
       "%y = QuantizeLinear(%x, %s, %z) {axis=2, block_size=16}\noutput %y\n"},
      {"quantise.to_i4_blocked",
       "input %x: f32[5x37]\nconst %s: f32[5x3] = noise(0.05, 0.2)\n"
       "%y = QuantizeLinear(%x, %s) {axis=1, block_size=16, output_dtype=\"i4\"}\noutput %y\n"},
      {"quantise.to_u8_bench",
       "input %x: f32[1x64x112x112]\nconst %s: f32[] = 0.02\nconst %z: u8[] = 128\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n",
       true},
      {"quantise.to_u8_saturates",
       "input %x: f32[2x37] = noise(-9, 9)\nconst %s: f32[] = 0.02\nconst %z: u8[] = 128\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
