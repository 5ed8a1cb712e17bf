// ExpertMatMul: blocks and floats, few rows and many, rows of their own, sums.
#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ExpertCases() {
  static constexpr Case kCases[] = {
      {"quantise.experts_u4_row",
       "input %a: f32[1x64]\ninput %c: i64[1x2] = noise(0, 3)\n"
       "const %w: u4[4x37x64] = noise(0, 15)\nconst %s: f32[4x37x2] = noise(0.01, 0.1)\n"
       "const %m: f32[4x37x2] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.experts_u4_row_bench",
       "input %a: f32[1x1x512]\ninput %c: i64[1x1x8] = noise(0, 15)\n"
       "const %w: u4[16x256x512] = noise(0, 15)\nconst %s: f16[16x256x16] = noise(0.01, 0.1)\n"
       "const %m: f16[16x256x16] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m) {block_size=32}\noutput %y\n",
       true},
      {"quantise.experts_u4_rows_bench",
       "input %a: f32[1x24x512]\ninput %c: i64[1x24x4] = noise(0, 7)\n"
       "const %w: u4[8x256x512] = noise(0, 15)\nconst %s: f16[8x256x16] = noise(0.01, 0.1)\n"
       "const %m: f16[8x256x16] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m) {block_size=32}\noutput %y\n",
       true},
      {"quantise.experts_u4_summed",
       "input %a: f32[2x11x3x96]\ninput %c: i64[2x11x3] = noise(0, 4)\n"
       "input %by: f32[2x11x3]\nconst %w: u4[5x16x96] = noise(0, 15)\n"
       "const %s: f16[5x16x3] = noise(0.01, 0.1)\nconst %m: f16[5x16x3] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m, %by) {block_size=32}\noutput %y\n"},
      {"quantise.experts_u8_rows",
       "input %a: f32[70x64]\ninput %c: i32[70x2] = noise(0, 2)\n"
       "const %w: u8[3x33x64] = noise(0, 255)\nconst %s: f32[3x33x2] = noise(0.001, 0.01)\n"
       "const %m: f32[3x33x2] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.experts_u8_of_16_summed",
       "input %a: f32[9x48]\ninput %c: i64[9x3] = noise(0, 6)\ninput %by: f32[9x3]\n"
       "const %w: u8[7x17x48] = noise(0, 255)\nconst %s: f32[7x17x3] = noise(0.001, 0.01)\n"
       "const %m: f32[7x17x3] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m, %by) {block_size=16}\noutput %y\n"},
      {"quantise.experts_u4_of_16_own_rows",
       "input %a: f32[5x1x16]\ninput %c: i64[5x1] = noise(0, 1)\n"
       "const %w: u4[2x1x16] = noise(0, 15)\nconst %s: f32[2x1x1] = noise(0.01, 0.1)\n"
       "const %m: f32[2x1x1] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m) {block_size=16}\noutput %y\n"},
      {"quantise.experts_floats",
       "input %a: f32[13x2x19]\ninput %c: i64[13x2] = noise(0, 2)\nconst %w: f32[3x23x19]\n"
       "%y = ExpertMatMul(%a, %w, %c)\noutput %y\n"},
      {"quantise.experts_floats_summed",
       "input %a: f32[40x40]\ninput %c: i64[40x3] = noise(0, 5)\ninput %by: f32[40x3]\n"
       "const %w: f32[6x48x40]\n%y = ExpertMatMul(%a, %w, %c, _, _, %by)\noutput %y\n"},
      {"quantise.experts_floats_row",
       "input %a: f32[1x1]\ninput %c: i64[1x1] = noise(0, 1)\ninput %by: f32[1x1]\n"
       "const %w: f32[2x1x1]\n%y = ExpertMatMul(%a, %w, %c, _, _, %by)\noutput %y\n"},
      {"quantise.experts_none_chosen",
       "input %a: f32[2x3x37]\nconst %w: f32[1x21x37]\n"
       "%y = ExpertMatMul(%a, %w)\noutput %y\n"},
      {"quantise.experts_none_chosen_u4",
       "input %a: f32[64]\nconst %w: u4[1x21x64] = noise(0, 15)\n"
       "const %s: f16[1x21x2] = noise(0.01, 0.1)\nconst %m: f16[1x21x2] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, _, %s, %m)\noutput %y\n"},
      {"quantise.experts_one_each",
       "input %a: f32[2x7x3x37]\nconst %w: f32[3x21x37]\n"
       "%y = ExpertMatMul(%a, %w)\noutput %y\n"},
      {"quantise.experts_one_each_u4",
       "input %a: f32[1x1x5x64]\nconst %w: u4[5x37x64] = noise(0, 15)\n"
       "const %s: f16[5x37x2] = noise(0.01, 0.1)\nconst %m: f16[5x37x2] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, _, %s, %m)\noutput %y\n"},
      {"quantise.experts_no_rows",
       "input %a: f32[0x32]\ninput %c: i64[0x2] = noise(0, 2)\ninput %by: f32[0x2]\n"
       "const %w: u4[3x5x32] = noise(0, 15)\nconst %s: f32[3x5x1] = noise(0.01, 0.1)\n"
       "const %m: f32[3x5x1] = noise(-1, 0.1)\n"
       "%y = ExpertMatMul(%a, %w, %c, %s, %m, %by) {block_size=32}\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
