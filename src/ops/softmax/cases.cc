#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> SoftmaxCases() {
  // Some rows of %s hold nothing but -infinity.
#define FETTLE_ROWS_WITHOUT_NUMBERS(type, x, rows)      \
  "input %x: " type "[" x "]\ninput %m: " type "[" rows \
  "]\n%r = Relu(%m)\n%l = Log(%r)\n"                    \
  "%s = Add(%x, %l)\n"
  static constexpr Case kCases[] = {
      {"softmax.attention_bench",
       "input %x: f32[12x197x197]\n%y = Softmax(%x) {axis=-1}\noutput %y\n", true},
      {"softmax.axis_1_of_4_bench",
       "input %x: f32[1x21x128x128]\n%y = Softmax(%x) {axis=1}\noutput %y\n", true},
      {"softmax.classes_bench", "input %x: f32[1x1000]\n%y = Softmax(%x) {axis=-1}\noutput %y\n",
       true},
      {"softmax.empty", "input %x: f32[0x5]\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.f16", "input %x: f16[3x37]\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.first_axis", "input %x: f32[7x13]\n%y = Softmax(%x) {axis=0}\noutput %y\n"},
      {"softmax.flatten",
       "input %x: f32[2x3x5x7]\n%y = Softmax(%x) {axis=1, flatten_2d=1}\noutput %y\n"},
      {"softmax.hardmax",
       "input %x: f32[3x5x7] = noise(-4, 4)\n%y = Hardmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.hardmax_rows",
       "input %x: f32[3x531] = noise(-4, 4)\n"
       "%y = Hardmax(%x)\n"
       "output %y\n"},
      {"softmax.hardmax_equal",
       "input %x: f32[2x9x300] = noise(0, 2)\n"
       "%r = Round(%x)\n"
       "%y = Hardmax(%r) {axis=-2}\n"
       "output %y\n"},
      {"softmax.hardmax_half_flat",
       "input %x: f16[3x5x7]\n"
       "%y = Hardmax(%x) {axis=1, flatten_2d=1}\n"
       "output %y\n"},
      {"softmax.hardmax_one",
       "input %x: f32[3x1x2]\n"
       "%y = Hardmax(%x) {axis=1}\n"
       "output %y\n"},
      {"softmax.large_values",
       "input %x: f32[3x37] = noise(-9000, 9000)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.log", "input %x: f32[3x37] = noise(-9, 9)\n%y = LogSoftmax(%x)\noutput %y\n"},
      {"softmax.log_axis_1", "input %x: f32[2x5x3x3]\n%y = LogSoftmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.ones", "input %x: f16[5x1x37]\n%y = Softmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.log_ones_of_no_numbers",
       "input %x: f32[3x1x70]\n%d = Sqrt(%x)\n"
       "%y = LogSoftmax(%d) {axis=1}\noutput %y\n"},
      {"softmax.one_element", "input %x: f32[1x1]\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.pixels_of_4",
       "input %x: f32[1x33x35x4] = noise(-30, 30)\n%y = Softmax(%x) {axis=-1}\noutput %y\n"},
      {"softmax.prime_rows",
       "input %x: f32[2x3x131] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.rows_of_four_vectors",
       "input %x: f32[3x5x64] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.safe_attention",
       "input %q: f32[2x3x5x8]\ninput %k: f32[2x3x8x7]\ninput %v: f32[2x3x7x8]\n"
       "input %m: f32[2x1x5x1]\n%r = Relu(%m)\n%l = Log(%r)\n%p = MatMul(%q, %k)\n"
       "%s = Add(%p, %l)\n%t = Softmax(%s) {nan_to_zero=1}\n%y = MatMul(%t, %v)\noutput %y\n"},
      {"softmax.safe_columns",
       FETTLE_ROWS_WITHOUT_NUMBERS(
           "f32", "2x5x35", "2x1x35") "%y = Softmax(%s) {axis=1, nan_to_zero=1}\noutput %y\n"},
      {"softmax.safe_half",
       FETTLE_ROWS_WITHOUT_NUMBERS("f16", "9x37",
                                   "9x1") "%y = Softmax(%s) {nan_to_zero=1}\noutput %y\n"},
      {"softmax.safe_long_rows",
       FETTLE_ROWS_WITHOUT_NUMBERS("f32", "9x131",
                                   "9x1") "%y = Softmax(%s) {nan_to_zero=1}\noutput %y\n"},
      {"softmax.safe_rows",
       FETTLE_ROWS_WITHOUT_NUMBERS("f32", "9x37",
                                   "9x1") "%y = Softmax(%s) {nan_to_zero=1}\noutput %y\n"},
      {"softmax.safe_short_rows",
       FETTLE_ROWS_WITHOUT_NUMBERS("f32", "35x5",
                                   "35x1") "%y = Softmax(%s) {nan_to_zero=1}\noutput %y\n"},
      {"softmax.safe_three_columns",
       FETTLE_ROWS_WITHOUT_NUMBERS("f32", "35x3",
                                   "35x1") "%y = Softmax(%s) {nan_to_zero=1}\noutput %y\n"},
      {"softmax.two_columns",
       "input %x: f32[5x37x2] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.three_columns",
       "input %x: f32[5x37x3] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.four_columns",
       "input %x: f32[5x37x4] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
      {"softmax.few_side_by_side",
       "input %x: f32[2x131x4] = noise(-9, 9)\n%y = Softmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.five_side_by_side",
       "input %x: f32[2x131x5] = noise(-9, 9)\n%y = Softmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.long_columns",
       "input %x: f32[2x131x77] = noise(-9, 9)\n%y = Softmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.log_long_columns",
       "input %x: f32[1x197x141] = noise(-9, 9)\n%y = LogSoftmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.safe_long_columns",
       FETTLE_ROWS_WITHOUT_NUMBERS(
           "f32", "2x67x77", "2x1x77") "%y = Softmax(%s) {axis=1, nan_to_zero=1}\noutput %y\n"},
      {"softmax.log_side_by_side",
       "input %x: f32[3x70x3] = noise(-9, 9)\n%y = LogSoftmax(%x) {axis=1}\noutput %y\n"},
      {"softmax.window_of_49",
       "input %x: f32[3x5x49] = noise(-9, 9)\n%y = Softmax(%x)\noutput %y\n"},
  };
#undef FETTLE_ROWS_WITHOUT_NUMBERS
  return kCases;
}

}  // namespace fettle::ops
