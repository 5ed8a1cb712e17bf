// BlockMatMul: codes of 4 and 8 bits, few rows and many, columns that fill no panel.
#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> BlockProductCases() {
  static constexpr Case kCases[] = {
      {"quantise.blocks_u4_row",
       "input %a: f32[1x64]\nconst %w: u4[37x64] = noise(0, 15)\n"
       "const %s: f32[37x2] = noise(0.01, 0.1)\nconst %m: f32[37x2] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.blocks_u4_row_bench",
       "input %a: f32[1x1x576]\nconst %w: u4[1536x576] = noise(0, 15)\n"
       "const %s: f32[1536x18] = noise(0.01, 0.1)\nconst %m: f32[1536x18] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n",
       true},
      {"quantise.blocks_u4_rows",
       "input %a: f32[2x11x96]\nconst %w: u4[16x96] = noise(0, 15)\n"
       "const %s: f32[16x3] = noise(0.01, 0.1)\nconst %m: f32[16x3] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.blocks_u4_halves",
       "input %a: f32[5x64]\nconst %w: u4[19x64] = noise(0, 15)\n"
       "const %s: f16[19x2] = noise(0.01, 0.1)\nconst %m: f16[19x2] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.blocks_u8_rows",
       "input %a: f32[9x64]\nconst %w: u8[33x64] = noise(0, 255)\n"
       "const %s: f32[33x2] = noise(0.001, 0.01)\nconst %m: f32[33x2] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.blocks_u8_of_16",
       "input %a: f32[3x48] = noise(-90, 90)\nconst %w: u8[17x48] = noise(0, 255)\n"
       "const %s: f32[17x3] = noise(0.001, 0.01)\nconst %m: f32[17x3] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=16}\noutput %y\n"},
      {"quantise.blocks_u4_of_16",
       "input %a: f32[1x16]\nconst %w: u4[1x16] = noise(0, 15)\n"
       "const %s: f32[1x1] = noise(0.01, 0.1)\nconst %m: f32[1x1] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=16}\noutput %y\n"},
      {"quantise.blocks_u4_of_16_rows",
       "input %a: f32[9x48] = noise(-90, 90)\nconst %w: u4[37x48] = noise(0, 15)\n"
       "const %s: f32[37x3] = noise(0.01, 0.1)\nconst %m: f32[37x3] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=16}\noutput %y\n"},
      {"quantise.blocks_zeros",
       "input %a: f32[2x32] = noise(0, 0)\nconst %w: u4[5x32] = noise(0, 15)\n"
       "const %s: f32[5x1] = noise(0.01, 0.1)\nconst %m: f32[5x1] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
      {"quantise.blocks_no_rows",
       "input %a: f32[0x32]\nconst %w: u4[5x32] = noise(0, 15)\n"
       "const %s: f32[5x1] = noise(0.01, 0.1)\nconst %m: f32[5x1] = noise(-1, 0.1)\n"
       "%y = BlockMatMul(%a, %w, %s, %m) {block_size=32}\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
