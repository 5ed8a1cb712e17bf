#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> GatherCases() {
  static constexpr Case kCases[] = {
      {"gather.rows",
       "input %x: f32[5x7]\n"
       "const %i: i64[2x2] = 0 -1 4 2\n"
       "%y = Gather(%x, %i)\n"
       "output %y\n"},
      {"gather.scalar_index",
       "input %x: f32[2x5x3]\n"
       "const %i: i64[] = -2\n"
       "%y = Gather(%x, %i) {axis=1}\n"
       "output %y\n"},
      {"gather.last_axis_i32",
       "input %x: u8[3x11]\n"
       "const %i: i32[4] = 10 0 -3 0\n"
       "%y = Gather(%x, %i) {axis=-1}\n"
       "output %y\n"},
      {"gather.no_indices",
       "input %x: f32[3x4]\n"
       "const %i: i64[0] =\n"
       "%y = Gather(%x, %i)\n"
       "output %y\n"},
      {"gather.channels",
       "input %x: f32[2x5x3x4]\n"
       "const %i: i64[3] = 4 1 1\n"
       "%y = Gather(%x, %i) {axis=1}\n"
       "output %y\n"},
      {"gather.columns",
       "input %x: f32[3x40x4]\n"
       "input %i: i64[2] = noise(-4, 3)\n"
       "%y = Gather(%x, %i) {axis=2}\n"
       "output %y\n"},
      {"gather.real_part",
       "input %x: f16[3x5x7x2]\n"
       "const %i: i32[] = 0\n"
       "%y = Gather(%x, %i) {axis=3}\n"
       "output %y\n"},
      {"gather.windows",
       "input %x: f32[1x5x14x1]\n"
       "const %i: i64[3x12] = 0 1 2 3 4 5 6 7 8 9 10 11 -13 -12 -11 -10 -9 -8 -7 -6 -5 -4 -3 -2 "
       "2 3 4 5 6 7 8 9 10 11 12 13\n"
       "%y = Gather(%x, %i) {axis=2}\n"
       "output %y\n"},
      {"gather.embedding",
       "const %x: f32[1000x128]\n"
       "input %i: i64[1x256] = noise(0, 999)\n"
       "%y = Gather(%x, %i)\n"
       "output %y\n",
       true},
      {"gather.elements",
       "input %x: f32[3x3]\n"
       "const %i: i64[2x3] = 1 -1 0 2 0 0\n"
       "%y = GatherElements(%x, %i)\n"
       "output %y\n"},
      {"gather.elements_last_axis",
       "input %x: f16[3x5]\n"
       "const %i: i32[2x7] = 0 1 2 3 4 -1 -5 4 4 4 0 0 0 1\n"
       "%y = GatherElements(%x, %i) {axis=-1}\n"
       "output %y\n"},
      {"gather.elements_long",
       "input %x: f32[128x4096]\n"
       "input %i: i64[128x1024] = noise(-4096, 4095)\n"
       "%y = GatherElements(%x, %i) {axis=1}\n"
       "output %y\n",
       true},
      {"gather.elements_middle",
       "input %x: f32[3x5x4x7]\ninput %i: i64[2x9x4x7] = noise(-5, 4)\n"
       "%y = GatherElements(%x, %i) {axis=1}\noutput %y\n"},
      {"gather.elements_narrow",
       "input %x: u8[3x5x4x7]\ninput %i: i32[3x1x2x6] = noise(-5, 4)\n"
       "%y = GatherElements(%x, %i) {axis=1}\noutput %y\n"},
      {"gather.elements_none",
       "input %x: f32[3x5]\ninput %i: i64[3x0] = noise(0, 4)\n"
       "%y = GatherElements(%x, %i) {axis=1}\noutput %y\n"},
      {"gather.elements_one",
       "input %x: i64[1] = noise(0, 9)\ninput %i: i64[1] = noise(0, 0)\n"
       "%y = GatherElements(%x, %i)\noutput %y\n"},
      {"gather.elements_parts",
       "input %x: f32[2x40000]\ninput %i: i64[2x33000] = noise(-40000, 39999)\n"
       "%y = GatherElements(%x, %i) {axis=1}\noutput %y\n"},
      {"gather.nd_bytes",
       "input %x: u8[5x7]\ninput %i: i32[300x2] = noise(-5, 4)\n%y = GatherND(%x, %i)\n"
       "output %y\n"},
      {"gather.nd_elements",
       "input %x: f32[2x3x5]\n"
       "const %i: i64[2x3] = 0 1 4 -1 2 -5\n"
       "%y = GatherND(%x, %i)\n"
       "output %y\n"},
      {"gather.nd_rows_batched",
       "input %x: f32[2x3x5]\n"
       "const %i: i64[2x2x1] = 0 2 1 -1\n"
       "%y = GatherND(%x, %i) {batch_dims=1}\n"
       "output %y\n"},
      {"gather.scatter_elements",
       "input %x: f32[3x4]\n"
       "const %i: i64[2x4] = 0 1 2 -1 2 0 1 0\n"
       "input %u: f32[2x4]\n"
       "%y = ScatterElements(%x, %i, %u)\n"
       "output %y\n"},
      {"gather.scatter_elements_add",
       "input %x: f32[3x4]\n"
       "const %i: i64[3x2] = 1 1 0 -1 2 2\n"
       "input %u: f32[3x2]\n"
       "%y = ScatterElements(%x, %i, %u) {axis=1, reduction=\"add\"}\n"
       "output %y\n"},
      {"gather.scatter_elements_max_i32",
       "input %x: i32[5]\n"
       "const %i: i32[4] = 1 1 -1 0\n"
       "input %u: i32[4]\n"
       "%y = ScatterElements(%x, %i, %u) {reduction=\"max\"}\n"
       "output %y\n"},
      {"gather.scatter_elements_middle",
       "input %x: f16[3x5x4x7]\ninput %i: i64[2x9x4x7] = noise(-5, 4)\n"
       "input %u: f16[2x9x4x7]\n%y = ScatterElements(%x, %i, %u) {axis=1}\noutput %y\n"},
      {"gather.scatter_elements_mul_u8",
       "input %x: u8[3x5x4]\ninput %i: i32[3x5x3] = noise(-3, 2)\ninput %u: u8[3x5x3]\n"
       "%y = ScatterElements(%x, %i, %u) {reduction=\"mul\"}\noutput %y\n"},
      {"gather.product_columns",
       "input %w: f32[3x37x70]\ninput %i: i64[11] = noise(-3, 2)\ninput %x: f32[11x1x37]\n"
       "%g = Gather(%w, %i)\n%y = MatMul(%x, %g)\noutput %y\n"},
      {"gather.product_halves",
       "const %w: f16[5x19x37]\ninput %i: i64[9] = noise(-5, 4)\ninput %x: f16[9x37x1]\n"
       "%g = Gather(%w, %i)\n%y = MatMul(%g, %x)\noutput %y\n"},
      {"gather.product_long",
       "const %w: f32[4x128x96]\ninput %i: i64[40] = noise(0, 3)\ninput %x: f32[40x96x1]\n"
       "%g = Gather(%w, %i)\n%y = MatMul(%g, %x)\noutput %y\n",
       true},
      {"gather.product_long_columns",
       "const %w: f32[4x96x128]\ninput %i: i64[40] = noise(0, 3)\ninput %x: f32[40x1x96]\n"
       "%g = Gather(%w, %i)\n%y = MatMul(%x, %g)\noutput %y\n",
       true},
      {"gather.product_rows",
       "const %w: f32[5x19x37]\ninput %i: i32[9] = noise(-5, 4)\ninput %x: f32[9x37x1]\n"
       "%g = Gather(%w, %i)\n%y = MatMul(%g, %x)\noutput %y\n"},
      {"gather.scatter_elements_none",
       "input %x: f32[3x5]\ninput %i: i64[3x0] = noise(0, 4)\ninput %u: f32[3x0]\n"
       "%y = ScatterElements(%x, %i, %u) {axis=1}\noutput %y\n"},
      {"gather.scatter_nd_add_f16",
       "input %x: f16[9x307]\nconst %i: i64[5x1] = 8 -7 0 4 -4\ninput %u: f16[5x307]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"add\"}\noutput %y\n"},
      {"gather.scatter_nd_add_i8",
       "input %x: i8[9x37]\ninput %i: i64[5x1] = noise(-9, 8)\ninput %u: i8[5x37]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"add\"}\noutput %y\n"},
      {"gather.scatter_nd_max",
       "input %x: f32[9x37]\ninput %i: i64[5x1] = noise(-9, 8)\ninput %u: f32[5x37]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"max\"}\noutput %y\n"},
      {"gather.scatter_nd_min_i64",
       "input %x: i64[9x37] = noise(-9, 9)\ninput %i: i32[5x1] = noise(-9, 8)\n"
       "input %u: i64[5x37] = noise(-9, 9)\n%y = ScatterND(%x, %i, %u) {reduction=\"min\"}\n"
       "output %y\n"},
      {"gather.scatter_nd_none",
       "input %x: f32[9x3]\ninput %i: i64[0x1] = noise(0, 8)\ninput %u: f32[0x3]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"add\"}\noutput %y\n"},
      {"gather.scatter_nd_points_add",
       "input %x: f32[9x31]\ninput %i: i64[700x2] = noise(-9, 8)\ninput %u: f32[700]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"add\"}\noutput %y\n"},
      {"gather.scatter_nd_points_mul_i32",
       "input %x: i32[300] = noise(-9, 9)\ninput %i: i32[700x1] = noise(-300, 299)\n"
       "input %u: i32[700] = noise(-9, 9)\n%y = ScatterND(%x, %i, %u) {reduction=\"mul\"}\n"
       "output %y\n"},
      {"gather.scatter_nd_points_max_i64",
       "input %x: i64[40x7] = noise(-9, 9)\ninput %i: i64[300x2] = noise(0, 6)\n"
       "input %u: i64[300] = noise(-99, 99)\n%y = ScatterND(%x, %i, %u) {reduction=\"max\"}\n"
       "output %y\n"},
      {"gather.scatter_nd_points_min",
       "input %x: f16[9x3]\ninput %i: i64[40x2] = noise(-3, 2)\ninput %u: f16[40]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"min\"}\noutput %y\n"},
      {"gather.scatter_nd_rows",
       "input %x: f32[4x3x5]\n"
       "const %i: i64[2x1] = 2 -4\n"
       "input %u: f32[2x3x5]\n"
       "%y = ScatterND(%x, %i, %u)\n"
       "output %y\n"},
      {"gather.scatter_nd_mul",
       "input %x: f32[4x3]\n"
       "const %i: i64[3x2] = 1 1 1 1 3 0\n"
       "input %u: f32[3]\n"
       "%y = ScatterND(%x, %i, %u) {reduction=\"mul\"}\n"
       "output %y\n"},
      {"gather.scatter_nd_long",
       "input %x: f32[8400x85]\n"
       "const %i: i64[512x1] = noise(0, 8399)\n"
       "input %u: f32[512x85]\n"
       "%y = ScatterND(%x, %i, %u)\n"
       "output %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
