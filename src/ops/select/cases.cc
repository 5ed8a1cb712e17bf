#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> SelectCases() {
  static constexpr Case kCases[] = {
      {"select.top_k_prime",
       "input %x: f32[3x17]\n"
       "const %k: i64[1] = 5\n"
       "%v, %i = TopK(%x, %k)\n"
       "output %v\n"
       "output %i\n"},
      {"select.top_k_smallest_first_axis",
       "input %x: i32[7x3] = noise(-3, 3)\n"
       "const %k: i64[1] = 7\n"
       "%v, %i = TopK(%x, %k) {axis=0, largest=0}\n"
       "output %v\n"
       "output %i\n"},
      {"select.top_k_bytes",
       "input %x: i8[5x700] = noise(-9, 9)\nconst %k: i64[1] = 40\n%v, %i = TopK(%x, %k)\n"
       "output %v\noutput %i\n"},
      {"select.top_k_halves_last_of_many",
       "input %x: f16[7x411x19]\nconst %k: i64[1] = 3\n%v, %i = TopK(%x, %k) {axis=1, "
       "largest=0}\noutput %v\noutput %i\n"},
      {"select.top_k_i64_ties",
       "input %x: i64[3x500] = noise(-5, 5)\nconst %k: i64[1] = 130\n%v, %i = TopK(%x, %k)\n"
       "output %v\noutput %i\n"},
      {"select.top_k_i64_beyond_i32",
       "input %x: i64[40x200] = noise(-2160000000, 2160000000)\nconst %k: i64[1] = 1\n"
       "%v, %i = TopK(%x, %k)\noutput %v\noutput %i\n"},
      {"select.top_k_i64_column_beyond_i32",
       "input %x: i64[9000x3] = noise(-2148000000, 2148000000)\nconst %k: i64[1] = 6\n"
       "%v, %i = TopK(%x, %k) {axis=0}\noutput %v\noutput %i\n"},
      {"select.top_k_nan",
       "input %x: f32[4x777]\nconst %k: i64[1] = 300\n%s = Sqrt(%x)\n%v, %i = TopK(%s, %k)\n"
       "output %v\noutput %i\n"},
      {"select.top_k_one",
       "input %x: f64[1x1]\nconst %k: i64[1] = 1\n%v, %i = TopK(%x, %k)\noutput %v\n"
       "output %i\n"},
      {"select.top_k_short_rows",
       "input %x: f32[37x1000]\nconst %k: i64[1] = 5\n%v, %i = TopK(%x, %k)\noutput %v\n"
       "output %i\n"},
      {"select.top_k_first_of_rows",
       "input %x: u16[5x9001] = noise(0, 65535)\nconst %k: i64[1] = 1\n"
       "%v, %i = TopK(%x, %k) {largest=0}\noutput %v\noutput %i\n"},
      {"select.top_k_columns_of_nan",
       "input %x: f64[2x600x21]\nconst %k: i64[1] = 24\n%s = Sqrt(%x)\n"
       "%v, %i = TopK(%s, %k) {axis=1}\noutput %v\noutput %i\n"},
      {"select.top_k_many_of_columns",
       "input %x: i8[700x17] = noise(-100, 100)\nconst %k: i64[1] = 25\n"
       "%v, %i = TopK(%x, %k) {axis=0}\noutput %v\noutput %i\n"},
      {"select.top_k_most_of_two_columns",
       "input %x: u64[3x5000x2] = noise(0, 1000)\nconst %k: i64[1] = 4900\n"
       "%v, %i = TopK(%x, %k) {axis=1, largest=0}\noutput %v\noutput %i\n"},
      {"select.top_k_infinities",
       "const %c: f32[12] = inf -inf 1 nan 0 -0.0 inf nan -inf 3 -3 0\n"
       "input %x: f32[3x12]\n%s = Add(%x, %c)\nconst %k: i64[1] = 12\n"
       "%v, %i = TopK(%s, %k)\noutput %v\noutput %i\n"},
      {"select.top_k_bfloat_columns",
       "input %x: bf16[300x40]\nconst %k: i64[1] = 2\n%v, %i = TopK(%x, %k) {axis=0}\n"
       "output %v\noutput %i\n"},
      {"select.top_k_zeros",
       "input %x: f32[2x90] = noise(-0.4, 0.4)\nconst %k: i64[1] = 7\n%r = Round(%x)\n"
       "%v, %i = TopK(%r, %k) {largest=0}\noutput %v\noutput %i\n"},
      {"select.top_k_places_alone",
       "input %x: f32[9x70]\nconst %k: i64[1] = 6\n_, %i = TopK(%x, %k)\noutput %i\n"},
      {"select.top_k_of_a_long_row",
       "input %x: f32[2x40000] = noise(-3, 3)\nconst %k: i64[1] = 700\n"
       "%v, %i = TopK(%x, %k)\noutput %v\noutput %i\n"},
      {"select.top_k_none",
       "input %x: f16[3x5]\n"
       "const %k: i64[1] = 0\n"
       "%v, %i = TopK(%x, %k) {axis=-1}\n"
       "output %v\n"
       "output %i\n"},
      {"select.top_k_middle_axis",
       "input %x: f32[2x11x3]\n"
       "const %k: i64[1] = 4\n"
       "%v, %i = TopK(%x, %k) {axis=1}\n"
       "output %v\n"
       "output %i\n"},
      {"select.top_k_detector",
       "input %x: f32[1x8400]\n"
       "const %k: i64[1] = 300\n"
       "%v, %i = TopK(%x, %k)\n"
       "output %v\n"
       "output %i\n",
       true},
      {"select.non_zero",
       "const %x: f32[2x3] = 1 0 2 0 -3 0\n"
       "%y = NonZero(%x)\n"
       "output %y\n"},
      {"select.non_zero_scalar",
       "const %x: bool[] = 1\n"
       "%y = NonZero(%x)\n"
       "output %y\n"},
      {"select.non_zero_none",
       "const %x: i64[4] = 0 0 0 0\n"
       "%y = NonZero(%x)\n"
       "output %y\n"},
      {"select.unique_sorted",
       "const %x: f32[6] = 2 1 1 3 4 3\n"
       "%y, %i, %n, %c = Unique(%x)\n"
       "output %y\n"
       "output %i\n"
       "output %n\n"
       "output %c\n"},
      {"select.unique_unsorted_axis",
       "const %x: i32[3x2] = 5 1 2 3 5 1\n"
       "%y, %i, %n, %c = Unique(%x) {axis=0, sorted=0}\n"
       "output %y\n"
       "output %i\n"
       "output %n\n"
       "output %c\n"},
      {"select.compress_axis",
       "input %x: f32[3x5]\n"
       "const %c: bool[4] = 0 1 0 1\n"
       "%y = Compress(%x, %c) {axis=-1}\n"
       "output %y\n"},
      {"select.compress_flat",
       "input %x: u8[3x5]\n"
       "const %c: bool[7] = 0 1 0 0 1 1 1\n"
       "%y = Compress(%x, %c)\n"
       "output %y\n"},
      {"select.reverse_sequence",
       "input %x: f32[4x3x5]\n"
       "const %l: i64[3] = 4 1 2\n"
       "%y = ReverseSequence(%x, %l)\n"
       "output %y\n"},
      {"select.reverse_sequence_batch_first",
       "input %x: u8[3x4]\n"
       "const %l: i64[3] = 4 0 3\n"
       "%y = ReverseSequence(%x, %l) {batch_axis=0, time_axis=1}\n"
       "output %y\n"},
      {"select.tensor_scatter",
       "input %x: f32[2x3x7x5]\n"
       "input %u: f32[2x3x2x5]\n"
       "const %w: i64[2] = 5 0\n"
       "%y = TensorScatter(%x, %u, %w)\n"
       "output %y\n"},
      {"select.tensor_scatter_circular",
       "input %x: f32[2x7x5]\n"
       "input %u: f32[2x3x5]\n"
       "const %w: i64[2] = 5 1\n"
       "%y = TensorScatter(%x, %u, %w) {mode=\"circular\"}\n"
       "output %y\n"},
      {"select.compress_first_axis",
       "input %x: f16[7x5x3]\n"
       "const %c: bool[7] = 1 0 0 1 1 0 1\n"
       "%y = Compress(%x, %c) {axis=0}\n"
       "output %y\n"},
      {"select.compress_short_condition",
       "input %x: i64[3x9x1]\n"
       "const %c: bool[4] = 0 1 0 1\n"
       "%y = Compress(%x, %c) {axis=1}\n"
       "output %y\n"},
      {"select.compress_nothing",
       "input %x: f64[3x2]\n"
       "const %c: bool[2] = 0 0\n"
       "%y = Compress(%x, %c) {axis=1}\n"
       "output %y\n"},
      {"select.reverse_sequence_of_elements",
       "input %x: f64[7x5]\n"
       "const %l: i64[5] = 7 0 1 6 2\n"
       "%y = ReverseSequence(%x, %l)\n"
       "output %y\n"},
      {"select.reverse_sequence_half_rows",
       "input %x: f16[2x5x3x2]\n"
       "input %l: i64[2] = noise(0, 5)\n"
       "%y = ReverseSequence(%x, %l) {batch_axis=0, time_axis=1}\n"
       "output %y\n"},
      {"select.reverse_sequence_one",
       "input %x: f32[1x1x3]\n"
       "const %l: i64[1] = 1\n"
       "%y = ReverseSequence(%x, %l)\n"
       "output %y\n"},
      {"select.tensor_scatter_no_indices",
       "input %x: u8[2x3x7x1]\n"
       "input %u: u8[2x3x7x1]\n"
       "%y = TensorScatter(%x, %u)\n"
       "output %y\n"},
      {"select.tensor_scatter_last_axis",
       "input %x: f16[3x2x5]\n"
       "input %u: f16[3x2x2]\n"
       "const %w: i64[3] = 4 0 5\n"
       "%y = TensorScatter(%x, %u, %w) {axis=-1, mode=\"circular\"}\n"
       "output %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
