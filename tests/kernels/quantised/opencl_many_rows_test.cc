// Products of many rows and attention of prompts by matrix instructions, emulated where the device
// has none.
#include "tests/kernels/opencl/mma_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClAttentionPrompt;
extern const KernelDesc kOpenClBlockProductManyRows;
extern const KernelDesc kOpenClHalfWeightsManyRows;

namespace {

std::string Halves(int64_t rows, int64_t n, int64_t k) {
  return fmt::format(
      "input %a: f16[1x{0}x{2}]\ninput %r: f16[1x{0}x{1}]\nconst %w: f16[{2}x{1}]\n"
      "%p = MatMul(%a, %w)\n%y = Add(%r, %p)\noutput %y\n",
      rows, n, k);
}

std::string Blocks(int64_t rows, int64_t n, int64_t k, int bits, std::string_view scales,
                   int64_t block = 32) {
  return fmt::format(
      "input %a: f32[1x{0}x{2}]\ninput %r: f32[1x{0}x{1}]\n"
      "const %w: u{3}[{1}x{2}] = noise(0, {5})\nconst %s: {4}[{1}x{6}] = noise(0.01, 0.1)\n"
      "const %m: {4}[{1}x{6}] = noise(-1, 0.1)\n"
      "%p = BlockMatMul(%a, %w, %s, %m) {{block_size={7}}}\n%y = Add(%r, %p)\noutput %y\n",
      rows, n, k, bits, scales, bits == 4 ? 15 : 255, k / block, block);
}

/// `length` new positions of a cache of 200, with more keys where `last` says so.
std::string Attention(int64_t length, int64_t size, int64_t last, std::string_view more) {
  return fmt::format(
      "input %q: f32[1x{0}x{2}]\ninput %k: f32[1x{0}x{3}]\ninput %v: f32[1x{0}x{3}]\n"
      "input %pk: f16[1x2x200x{1}]\ninput %pv: f16[1x2x200x{1}]\nconst %n: i32[1] = {4}\n"
      "const %t: i32[] = 200\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
      "{{kv_num_heads=2, num_heads=6{5}}}\noutput %y\noutput %nk\noutput %nv\n",
      length, size, 6 * size, 2 * size, last, more);
}

using OpenClManyRows = OpenClMma;

TEST_F(OpenClManyRows, MultiplyHalves) {
  Check(kOpenClHalfWeightsManyRows, Halves(40, 68, 96));
  Check(kOpenClHalfWeightsManyRows, Halves(64, 32, 128), {{"SPLIT", 2}});
}

TEST_F(OpenClManyRows, MultiplyBlocks) {
  Check(kOpenClBlockProductManyRows, Blocks(40, 68, 96, 4, "f16"));
  Check(kOpenClBlockProductManyRows, Blocks(33, 36, 64, 8, "f32"));
  Check(kOpenClBlockProductManyRows, Blocks(32, 32, 64, 4, "f16", 16));
  Check(kOpenClBlockProductManyRows, Blocks(40, 36, 128, 4, "f16"), {{"SPLIT", 2}});
}

TEST_F(OpenClManyRows, AttendToACache) {
  Check(kOpenClAttentionPrompt, Attention(40, 64, 149, ""));
  Check(kOpenClAttentionPrompt, Attention(30, 128, 29, ""));
  Check(kOpenClAttentionPrompt, Attention(70, 64, 199, ", local_window_size=33, softcap=5.0"));
}

}  // namespace
}  // namespace fettle::kernels
