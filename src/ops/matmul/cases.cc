#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> MatMulCases() {
  static constexpr Case kCases[] = {
      {"matmul.short_sums_of_many_columns",
       "input %a: f32[2x33x3]\ninput %b: f32[2x3x317]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.short_sums_with_bias",
       "input %a: f32[71x5]\nconst %b: f32[5x300] = noise(-1, 1)\n"
       "const %c: f32[300] = noise(-1, 1)\n%g = Gemm(%a, %b, %c)\n%y = Relu(%g)\noutput %y\n"},
      {"matmul.1024_bench",
       "input %a: f32[1024x1024]\nconst %b: f32[1024x1024]\n%y = MatMul(%a, %b)\noutput %y\n",
       true},
      {"matmul.attention_bench",
       "input %a: f32[1x12x197x64]\ninput %b: f32[1x12x64x197]\n%y = MatMul(%a, %b)\noutput %y\n",
       true},
      {"matmul.batch_broadcast",
       "input %a: f32[3x1x5x7]\ninput %b: f32[2x7x4]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.batch_list_relu",
       "input %a: f32[3x21x17]\nconst %b: f32[17x35]\n%c = MatMul(%a, %b)\n%y = Relu(%c)\n"
       "output %y\n"},
      {"matmul.batch_pairs",
       "input %a: f32[3x18x5]\ninput %b: f32[3x5x9]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.deep",
       "input %a: f32[31x2501]\nconst %b: f32[2501x35]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.det", "input %x: f32[2x3x5x5]\n%y = Det(%x)\noutput %y\n"},
      {"matmul.inverse", "input %x: f32[2x3x5x5]\n%y = Inverse(%x)\noutput %y\n"},
      {"matmul.inverse_empty", "input %x: f32[0x3x3]\n%y = Inverse(%x)\noutput %y\n"},
      {"matmul.inverse_one", "input %x: f64[1x1]\n%y = Inverse(%x)\noutput %y\n"},
      {"matmul.det_one", "input %x: f32[1x1]\n%y = Det(%x)\noutput %y\n"},
      {"matmul.einsum_batch",
       "input %a: f32[3x5x7]\ninput %b: f32[3x7x4]\n"
       "%y = Einsum(%a, %b) {equation=\"bij,bjk->bik\"}\noutput %y\n"},
      {"matmul.einsum_diagonal",
       "input %a: f32[5x5]\n%y = Einsum(%a) {equation=\"ii->i\"}\noutput %y\n"},
      {"matmul.einsum_ellipsis",
       "input %a: f32[2x3x5x7]\ninput %b: f32[3x7x4]\n"
       "%y = Einsum(%a, %b) {equation=\"...ij, ...jk->...ik\"}\noutput %y\n"},
      {"matmul.einsum_implicit",
       "input %a: f32[5x7]\ninput %b: f32[7x3]\n%y = Einsum(%a, %b) {equation=\"ij,jk\"}\n"
       "output %y\n"},
      {"matmul.einsum_sum", "input %a: f32[5x7]\n%y = Einsum(%a) {equation=\"ij->\"}\noutput %y\n"},
      {"matmul.typed_f64",
       "input %a: f64[2x3x13x600]\ninput %b: f64[3x600x71]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.typed_f64_turned",
       "input %a: f64[530x98]\nconst %b: f64[67x530]\n"
       "%y = Gemm(%a, %b) {transA=1, transB=1}\noutput %y\n"},
      {"matmul.typed_i32",
       "input %a: i32[7x19] = noise(-100000, 100000)\nconst %b: i32[19x33] = noise(-100000, "
       "100000)\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.typed_u64_vector",
       "input %a: u64[21] = noise(0, 9)\ninput %b: u64[3x21x10] = noise(0, 9)\n"
       "%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.shared_cache_sets",
       "input %a: f32[17x1024]\nconst %b: f32[1024x545]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.shared_cache_sets_of_pairs",
       "input %a: f32[2x9x512]\ninput %b: f32[2x512x512]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.empty_k",
       "input %a: f32[3x0]\ninput %b: f32[0x5]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.empty_m",
       "input %a: f32[0x7]\ninput %b: f32[7x5]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.f16", "input %a: f16[5x37]\nconst %b: f16[37x19]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.few_rows_of_both",
       "input %a: f32[2x3x70]\ninput %b: f32[2x70x45]\ninput %c: f32[2x3x45]\n"
       "%p = MatMul(%a, %b)\n%s = Add(%p, %c)\n%y = Relu(%s)\noutput %y\n"},
      {"matmul.few_rows_of_both_added",
       "input %a: f32[4x65]\ninput %b: f32[65x147]\ninput %c: f32[4x1]\n"
       "%y = Gemm(%a, %b, %c) {beta=0.5}\noutput %y\n"},
      {"matmul.few_rows_of_both_narrow",
       "input %a: f32[1x37]\ninput %b: f32[37x7]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.gemm_bias",
       "input %a: f32[13x37]\nconst %b: f32[37x19]\nconst %c: f32[19]\n"
       "%y = Gemm(%a, %b, %c)\noutput %y\n"},
      {"matmul.gemm_classifier_bench",
       "input %a: f32[1x2048]\nconst %b: f32[1000x2048]\nconst %c: f32[1000]\n"
       "%y = Gemm(%a, %b, %c) {transB=1}\noutput %y\n",
       true},
      {"matmul.gemm_scaled_transposed",
       "input %a: f32[37x13]\ninput %b: f32[19x37]\ninput %c: f32[13x1]\n"
       "%y = Gemm(%a, %b, %c) {alpha=0.25, beta=0.35, transA=1, transB=1}\noutput %y\n"},
      {"matmul.gemm_relu",
       "input %a: f32[7x64]\nconst %b: f32[33x64]\nconst %c: f32[33]\n"
       "%g = Gemm(%a, %b, %c) {transB=1}\n%y = Relu(%g)\noutput %y\n"},
      {"matmul.huge_k",
       "input %a: f32[3x20011]\nconst %b: f32[20011x5]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.i32",
       "input %a: i32[5x7] = noise(-99, 99)\ninput %b: i32[7x3] = noise(-99, 99)\n"
       "%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.integer",
       "input %a: u8[13x37] = noise(0, 255)\nconst %b: i8[37x19] = noise(-128, 127)\n"
       "const %za: u8[] = 131\n%y = MatMulInteger(%a, %b, %za)\noutput %y\n"},
      {"matmul.integer_bench",
       "input %a: u8[128x768] = noise(0, 255)\nconst %b: i8[768x768] = noise(-128, 127)\n"
       "const %za: u8[] = 131\n%y = MatMulInteger(%a, %b, %za)\noutput %y\n",
       true},
      {"matmul.integer_computed",
       "input %a: i8[2x13x37] = noise(-128, 127)\ninput %b: u8[2x37x19] = noise(0, 255)\n"
       "input %za: i8[] = noise(-3, 5)\ninput %zb: u8[19] = noise(100, 140)\n"
       "%y = MatMulInteger(%a, %b, %za, %zb)\noutput %y\n"},
      {"matmul.integer_computed_bench",
       "input %a: u8[128x512] = noise(0, 255)\ninput %b: i8[512x512] = noise(-128, 127)\n"
       "input %za: u8[] = noise(0, 255)\n%y = MatMulInteger(%a, %b, %za)\noutput %y\n",
       true},
      {"matmul.integer_empty",
       "input %a: u8[3x0] = noise(0, 255)\ninput %b: i8[0x5] = noise(-128, 127)\n"
       "%y = MatMulInteger(%a, %b)\noutput %y\n"},
      {"matmul.integer_one",
       "input %a: i8[1x1] = noise(-128, 127)\ninput %b: i8[1x1] = noise(-128, 127)\n"
       "%y = MatMulInteger(%a, %b)\noutput %y\n"},
      {"matmul.integer_per_column",
       "input %a: u8[5x7] = noise(0, 255)\nconst %b: u8[7x3] = noise(0, 255)\n"
       "const %za: u8[1] = 12\nconst %zb: u8[3] = 120 128 131\n"
       "%y = MatMulInteger(%a, %b, %za, %zb)\noutput %y\n"},
      {"matmul.integer_per_row",
       "input %a: u8[3x17x70] = noise(0, 255)\ninput %b: i8[70x45] = noise(-128, 127)\n"
       "input %za: u8[17] = noise(0, 255)\n%y = MatMulInteger(%a, %b, %za)\noutput %y\n"},
      {"matmul.matrix_vector",
       "input %a: f32[2x5x7]\ninput %b: f32[7]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.one", "input %a: f32[1x1]\ninput %b: f32[1x1]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.one_row_of_each",
       "input %a: f32[2x1x260]\nconst %b: f32[2x260x9]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.one_row_transposed",
       "input %a: f32[1x301]\nconst %b: f32[37x301]\n%y = Gemm(%a, %b) {transB=1}\noutput %y\n"},
      {"matmul.primes",
       "input %a: f32[31x101]\nconst %b: f32[101x67]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.token_bench",
       "input %a: f32[1x197x768]\nconst %b: f32[768x3072]\n%y = MatMul(%a, %b)\noutput %y\n", true},
      {"matmul.vector_matrix",
       "input %a: f32[7]\ninput %b: f32[2x7x5]\n%y = MatMul(%a, %b)\noutput %y\n"},
      {"matmul.vectors", "input %a: f32[7]\ninput %b: f32[7]\n%y = MatMul(%a, %b)\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
