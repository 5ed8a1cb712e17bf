#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ConcatCases() {
  static constexpr Case kCases[] = {
      {"concat.channels_prime",
       "input %a: f32[2x3x5x7]\n"
       "input %b: f32[2x13x5x7]\n"
       "input %c: f32[2x1x5x7]\n"
       "%y = Concat(%a, %b, %c) {axis=1}\n"
       "output %y\n"},
      {"concat.negative_axis_u8",
       "input %a: u8[3x5]\n"
       "input %b: u8[3x2]\n"
       "%y = Concat(%a, %b) {axis=-1}\n"
       "output %y\n"},
      {"concat.with_empty_part",
       "input %a: f32[2x0x3]\n"
       "input %b: f32[2x4x3]\n"
       "%y = Concat(%a, %b) {axis=1}\n"
       "output %y\n"},
      {"concat.one_input",
       "input %a: i64[5]\n"
       "%y = Concat(%a) {axis=0}\n"
       "output %y\n"},
      {"concat.constant_part",
       "input %a: f32[1x5x3x3]\n"
       "const %b: f32[1x2x3x3]\n"
       "%y = Concat(%b, %a) {axis=1}\n"
       "output %y\n"},
      {"concat.same_value_twice",
       "input %a: f32[1x5x3x4]\n"
       "%y = Concat(%a, %a) {axis=3}\n"
       "output %y\n"},
      {"concat.quads_and_the_rest",
       "input %a: f32[2x8x3x5]\n"
       "input %b: f32[2x5x3x5]\n"
       "%y = Concat(%a, %b) {axis=1}\n"
       "output %y\n"},
      {"concat.quads_then_shifted",
       "input %a: f32[1x8x3x5]\n"
       "input %b: f32[1x5x3x5]\n"
       "input %c: f32[1x4x3x5]\n"
       "%y = Concat(%a, %b, %c) {axis=1}\n"
       "output %y\n"},
      {"concat.outer_axis",
       "input %a: f32[2x8x4x4]\n"
       "input %b: f32[1x8x4x4]\n"
       "%y = Concat(%a, %b) {axis=0}\n"
       "output %y\n"},
      {"concat.image_skip",
       "input %a: f32[1x64x96x96]\n"
       "input %b: f32[1x32x96x96]\n"
       "%y = Concat(%a, %b) {axis=1}\n"
       "output %y\n",
       true},
      {"concat.split_equal",
       "input %x: f32[2x12x5]\n"
       "%a, %b, %c = Split(%x) {axis=1}\n"
       "output %a\n"
       "output %b\n"
       "output %c\n"},
      {"concat.split_sizes_with_zero",
       "input %x: f32[2x7x5x3]\n"
       "const %s: i64[3] = 2 0 5\n"
       "%a, %b, %c = Split(%x, %s) {axis=1}\n"
       "output %a\n"
       "output %b\n"
       "output %c\n"},
      {"concat.split_uneven_outputs",
       "input %x: f16[7x3]\n"
       "%a, %b, %c, %d = Split(%x) {axis=0, num_outputs=4}\n"
       "output %a\n"
       "output %b\n"
       "output %c\n"
       "output %d\n"},
      {"concat.split_negative_axis",
       "input %x: u8[3x4x10]\n"
       "const %s: i64[2] = 3 7\n"
       "%a, %b = Split(%x, %s) {axis=-1}\n"
       "output %a\n"
       "output %b\n"},
      {"concat.split_channels",
       "input %x: f32[1x64x96x96]\n"
       "%a, %b = Split(%x) {axis=1}\n"
       "output %a\n"
       "output %b\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
