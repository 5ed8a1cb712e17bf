#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> ReduceCases() {
  static constexpr Case kCases[] = {
      {"reduce.all_axes", "input %x: f32[3x5x7]\n%y = ReduceSum(%x) {keepdims=0}\noutput %y\n"},
      {"reduce.argmax_classes_bench",
       "input %x: f32[1x21x256x256]\n%y = ArgMax(%x) {axis=1, keepdims=0}\noutput %y\n", true},
      {"reduce.argmax_channels", "input %x: f32[2x5x7x9]\n%y = ArgMax(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_f16", "input %x: f16[5x70x3]\n%y = ArgMax(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_i64_one", "input %x: i64[1x1]\n%y = ArgMax(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_i8_columns",
       "input %x: i8[2x9x150] = noise(-20, 20)\n%y = ArgMax(%x) {axis=1, select_last_index=1}\n"
       "output %y\n"},
      {"reduce.argmin_u8_long_columns",
       "input %x: u8[2x700x131] = noise(0, 255)\n%y = ArgMin(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_i8_last_of_few_columns",
       "input %x: i8[3x517x19] = noise(-128, 127)\n%y = ArgMax(%x) {axis=1, "
       "select_last_index=1}\noutput %y\n"},
      {"reduce.argmin_i8_long_rows",
       "input %x: i8[5x777] = noise(-128, 127)\n%y = ArgMin(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_i32_last_of_long_rows",
       "input %x: i32[3x301] = noise(-9, 9)\n%y = ArgMax(%x) {axis=1, select_last_index=1}\n"
       "output %y\n"},
      {"reduce.argmin_i64_long_row",
       "input %x: i64[1x1003] = noise(-4000, 4000)\n%y = ArgMin(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmin_u8_rows",
       "input %x: u8[5x300] = noise(0, 40)\n%y = ArgMin(%x) {axis=1}\noutput %y\n"},
      {"reduce.argmax_infinities",
       "input %x: f32[3x21]\nconst %z: f32[] = 0\n%d = Div(%x, %z)\n%y = ArgMin(%d) {axis=1}\n"
       "output %y\n"},
      {"reduce.argmax_nan",
       "input %x: f32[9x21]\n%s = Sqrt(%x)\n%y = ArgMax(%s) {axis=-1}\noutput %y\n"},
      {"reduce.argmax_nan_row",
       "input %x: f32[5x45]\n%s = Sqrt(%x)\n%y = ArgMin(%s) {axis=-1}\noutput %y\n"},
      {"reduce.argmax_last",
       "input %x: i32[3x37] = noise(0, 4)\n%y = ArgMax(%x) {axis=-1, select_last_index=1}\n"
       "output %y\n"},
      {"reduce.argmax_ties",
       "input %x: f32[6x37]\n%r = Round(%x)\n%y = ArgMax(%r) {axis=0, select_last_index=1}\n"
       "output %y\n"},
      {"reduce.argmin", "input %x: f32[5x7x3]\n%y = ArgMin(%x) {axis=1}\noutput %y\n"},
      {"reduce.cumprod",
       "input %x: f32[3x37]\nconst %a: i64[] = -1\n%y = CumProd(%x, %a)\noutput %y\n"},
      {"reduce.cumprod_exclusive_reverse",
       "input %x: i32[5x7] = noise(-3, 3)\nconst %a: i32[] = 0\n"
       "%y = CumProd(%x, %a) {exclusive=1, reverse=1}\noutput %y\n"},
      {"reduce.cumsum",
       "input %x: f32[3x37]\nconst %a: i64[] = -1\n%y = CumSum(%x, %a)\noutput %y\n"},
      {"reduce.cumsum_exclusive_reverse",
       "input %x: i32[5x7] = noise(-9, 9)\nconst %a: i32[] = 0\n"
       "%y = CumSum(%x, %a) {exclusive=1, reverse=1}\noutput %y\n"},
      {"reduce.cumsum_columns",
       "input %x: f32[2x9x131]\n"
       "const %a: i64[] = -2\n"
       "%y = CumSum(%x, %a) {reverse=1}\n"
       "output %y\n"},
      {"reduce.cumsum_short_rows",
       "input %x: f32[90x3]\n"
       "const %a: i64[] = 1\n"
       "%y = CumSum(%x, %a) {exclusive=1, reverse=1}\n"
       "output %y\n"},
      {"reduce.cumsum_few_short_columns",
       "input %x: f32[90x4x3]\n"
       "const %a: i64[] = 1\n"
       "%y = CumSum(%x, %a) {reverse=1}\n"
       "output %y\n"},
      {"reduce.cumprod_columns",
       "input %x: f32[4x3x5]\n"
       "const %a: i64[] = 1\n"
       "%y = CumProd(%x, %a) {reverse=1}\n"
       "output %y\n"},
      {"reduce.cumsum_long_row",
       "input %x: f32[1x5003] = noise(0, 1)\n"
       "const %a: i64[1] = 1\n"
       "%y = CumSum(%x, %a) {exclusive=1}\n"
       "output %y\n"},
      {"reduce.cumsum_half",
       "input %x: f16[3x5x7]\n"
       "const %a: i32[] = 0\n"
       "%y = CumSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.cumsum_i64",
       "input %x: i64[3x2x1x5] = noise(-900, 900)\n"
       "const %a: i64[] = 3\n"
       "%y = CumSum(%x, %a) {exclusive=1}\n"
       "output %y\n"},
      {"reduce.cumsum_f64_bound_axis",
       "input %x: f64[3x5]\n"
       "input %a: i64[] = noise(0, 1)\n"
       "%y = CumSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.cumsum_u32",
       "input %x: u32[9x3] = noise(0, 9)\n"
       "const %a: i64[] = 0\n"
       "%y = CumSum(%x, %a) {reverse=1}\n"
       "output %y\n"},
      {"reduce.cumsum_empty",
       "input %x: f32[3x0x2]\n"
       "const %a: i64[] = 1\n"
       "%y = CumSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.lines_max_nan",
       "input %x: f32[2x11x150]\n"
       "%s = Sqrt(%x)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceMax(%s, %a)\n"
       "output %y\n"},
      {"reduce.lines_product",
       "input %x: f32[9x141] = noise(-2, 2)\n"
       "const %a: i64[1] = 0\n"
       "%y = ReduceProd(%x, %a)\n"
       "output %y\n"},
      {"reduce.lines_absolute",
       "input %x: f32[2x13x133]\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceL1(%x, %a)\n"
       "output %y\n"},
      {"reduce.lines_squares",
       "input %x: f32[2x13x133]\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceL2(%x, %a)\n"
       "output %y\n"},
      {"reduce.lines_min_i64",
       "input %x: i64[3x11x85] = noise(-900, 900)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceMin(%x, %a)\n"
       "output %y\n"},
      {"reduce.lines_max_i8",
       "input %x: i8[2x10x777] = noise(-90, 90)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceMax(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_sum_i32",
       "input %x: i32[3x5x7] = noise(-90, 90)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_mean_i64_apart",
       "input %x: i64[3x5x2x7] = noise(-90, 90)\n"
       "const %a: i64[2] = 0 2\n"
       "%y = ReduceMean(%x, %a) {keepdims=0}\n"
       "output %y\n"},
      {"reduce.typed_apart",
       "input %x: f32[3x5x2x300]\n"
       "const %a: i64[2] = 0 -2\n"
       "%y = ReduceL2(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_apart_rows",
       "input %x: f16[4x3x5x17]\n"
       "const %a: i64[2] = 1 3\n"
       "%y = ReduceSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.apart_squares",
       "input %x: f32[9x5x3x7]\n"
       "const %a: i64[2] = 1 3\n"
       "%y = ReduceSumSquare(%x, %a) {keepdims=0}\n"
       "output %y\n"},
      {"reduce.apart_logarithms",
       "input %x: f32[9x5x3x7] = noise(0.1, 2)\n"
       "const %a: i64[2] = 0 3\n"
       "%y = ReduceLogSum(%x, %a)\n"
       "output %y\n"},
      {"reduce.apart_roots_f64",
       "input %x: f64[9x5x3x2]\n"
       "const %a: i64[3] = 0 2 -1\n"
       "%y = ReduceL2(%x, %a)\n"
       "output %y\n"},
      {"reduce.apart_extremes_i8",
       "input %x: i8[9x5x3x2] = noise(-90, 90)\n"
       "const %a: i64[2] = 0 2\n"
       "%y = ReduceMin(%x, %a) {keepdims=0}\n"
       "output %y\n"},
      {"reduce.typed_max_f64",
       "input %x: f64[7x19]\n"
       "const %a: i64[1] = -1\n"
       "%y = ReduceMax(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_min_i8",
       "input %x: i8[7x19] = noise(-90, 90)\n"
       "const %a: i64[1] = 0\n"
       "%y = ReduceMin(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_prod_u32",
       "input %x: u32[2x9x1] = noise(1, 5)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceProd(%x, %a)\n"
       "output %y\n"},
      {"reduce.typed_l1_i32",
       "input %x: i32[33] = noise(-9, 9)\n"
       "%y = ReduceL1(%x) {keepdims=0}\n"
       "output %y\n"},
      {"reduce.typed_squares_i64",
       "input %x: i64[4x9] = noise(-9, 9)\n"
       "const %a: i64[1] = 1\n"
       "%y = ReduceSumSquare(%x, %a)\n"
       "output %y\n"},
      {"reduce.arg_max_half",
       "input %x: f16[3x37]\n"
       "%y = ArgMax(%x) {axis=1}\n"
       "output %y\n"},
      {"reduce.empty_max",
       "input %x: f32[2x0x3]\nconst %a: i64[1] = 1\n%y = ReduceMax(%x, %a)\noutput %y\n"},
      {"reduce.empty_sum",
       "input %x: f32[2x0x3]\nconst %a: i64[1] = 1\n%y = ReduceSum(%x, %a)\noutput %y\n"},
      {"reduce.f16_huge_row",
       "input %x: f16[2x10007]\nconst %a: i64[1] = 1\n%y = ReduceMean(%x, %a)\noutput %y\n"},
      {"reduce.global_mean_bench",
       "input %x: f32[1x256x56x56]\nconst %a: i64[2] = 2 3\n%y = ReduceMean(%x, %a)\n"
       "output %y\n",
       true},
      {"reduce.huge_row",
       "input %x: f32[1x100003]\nconst %a: i64[1] = 1\n%y = ReduceSum(%x, %a)\noutput %y\n"},
      {"reduce.bool_max",
       "input %x: bool[3x37x5] = noise(0, 1)\nconst %a: i64[1] = 1\n%y = ReduceMax(%x, %a)\n"
       "output %y\n"},
      {"reduce.bool_min_rows",
       "input %x: bool[300x3] = noise(0, 1)\nconst %a: i64[1] = 1\n%y = ReduceMin(%x, %a)\n"
       "output %y\n"},
      {"reduce.f64_sum",
       "input %x: f64[3x1201]\nconst %a: i64[1] = 1\n%y = ReduceSum(%x, %a)\noutput %y\n"},
      {"reduce.i8_max_rows",
       "input %x: i8[5x9x333] = noise(-128, 127)\nconst %a: i64[1] = -1\n"
       "%y = ReduceMax(%x, %a)\noutput %y\n"},
      {"reduce.u8_min_rows",
       "input %x: u8[45x333] = noise(0, 255)\nconst %a: i64[1] = 1\n%y = ReduceMin(%x, %a)\n"
       "output %y\n"},
      {"reduce.i32_max",
       "input %x: i32[7x1000] = noise(-999, 999)\nconst %a: i64[1] = 1\n%y = ReduceMax(%x, %a)\n"
       "output %y\n"},
      {"reduce.i32_prod_columns",
       "input %x: i32[2x7x1500] = noise(-9, 9)\nconst %a: i64[1] = 1\n%y = ReduceProd(%x, %a)\n"
       "output %y\n"},
      {"reduce.i64_min_one",
       "input %x: i64[1x1] = noise(-9, 9)\nconst %a: i64[1] = 1\n%y = ReduceMin(%x, %a)\n"
       "output %y\n"},
      {"reduce.i64_sum",
       "input %x: i64[3x37] = noise(-99, 99)\nconst %a: i64[1] = 0\n"
       "%y = ReduceSum(%x, %a)\noutput %y\n"},
      {"reduce.l1",
       "input %x: f32[3x37]\nconst %a: i64[1] = 1\n%y = ReduceL1(%x, %a)\n"
       "output %y\n"},
      {"reduce.l2",
       "input %x: f32[3x37]\nconst %a: i64[1] = -1\n%y = ReduceL2(%x, %a)\n"
       "output %y\n"},
      {"reduce.last_axis_bench",
       "input %x: f32[1x197x768]\nconst %a: i64[1] = -1\n%y = ReduceMean(%x, %a)\noutput %y\n",
       true},
      {"reduce.log_sum",
       "input %x: f32[3x37] = noise(0.1, 4)\nconst %a: i64[1] = 1\n"
       "%y = ReduceLogSum(%x, %a)\noutput %y\n"},
      {"reduce.log_sum_exp",
       "input %x: f32[3x37] = noise(-200, 200)\nconst %a: i64[1] = 1\n"
       "%y = ReduceLogSumExp(%x, %a)\noutput %y\n"},
      {"reduce.max_middle",
       "input %x: f32[3x5x7]\nconst %a: i64[1] = 1\n%y = ReduceMax(%x, %a) {keepdims=0}\n"
       "output %y\n"},
      {"reduce.mean_outer_and_inner",
       "input %x: f32[3x5x7]\nconst %a: i64[2] = 2 0\n%y = ReduceMean(%x, %a)\noutput %y\n"},
      {"reduce.min", "input %x: f32[3x37]\n%y = ReduceMin(%x)\noutput %y\n"},
      {"reduce.noop",
       "input %x: f32[3x37]\n%y = ReduceSum(%x) {noop_with_empty_axes=1}\n"
       "output %y\n"},
      {"reduce.one_element", "input %x: f32[1]\n%y = ReduceMean(%x)\noutput %y\n"},
      {"reduce.prod",
       "input %x: f32[3x17]\nconst %a: i64[1] = 1\n%y = ReduceProd(%x, %a)\n"
       "output %y\n"},
      {"reduce.scalar", "input %x: f32[]\n%y = ReduceSum(%x)\noutput %y\n"},
      {"reduce.sum_square",
       "input %x: f32[2x3x37]\nconst %a: i64[2] = 1 2\n%y = ReduceSumSquare(%x, %a)\n"
       "output %y\n"},
      {"reduce.min_u8_apart",
       "input %x: u8[5x40x9] = noise(0, 255)\nconst %a: i64[2] = 0 2\n"
       "%y = ReduceMin(%x, %a)\noutput %y\n"},
      {"reduce.few_columns_max_i8",
       "input %x: i8[3x401x5] = noise(-128, 127)\nconst %a: i64[1] = 1\n"
       "%y = ReduceMax(%x, %a)\noutput %y\n"},
      {"reduce.few_columns_min_i64",
       "input %x: i64[2x333x7] = noise(-900, 900)\nconst %a: i64[1] = 1\n"
       "%y = ReduceMin(%x, %a)\noutput %y\n"},
      {"reduce.few_columns_f64",
       "input %x: f64[1x2001x2]\nconst %a: i64[1] = 1\n%y = ReduceL1(%x, %a)\noutput %y\n"},
      {"reduce.long_row_min_i8",
       "input %x: i8[7x777] = noise(-128, 127)\nconst %a: i64[1] = 1\n"
       "%y = ReduceMin(%x, %a)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
