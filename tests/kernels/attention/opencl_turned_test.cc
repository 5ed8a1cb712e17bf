// opencl.attention.cached with the RotaryEmbedding of its queries and keys, into another cache than
// that of the past.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClAttentionCached;

namespace {

struct Form {
  std::string_view cache = "f16", attributes = "interleaved=1, rotary_embedding_dim=16",
                   cosines = "", sines = "";
  int64_t batch = 1, stored = 16, rows = 1;
};

std::string Turned(const Form& form) {
  return fmt::format(
      "input %q: f32[{0}x{4}x96]\ninput %k: f32[{0}x{4}x32]\ninput %v: f32[{0}x{4}x32]\n"
      "const %c: f32[600x8]{5}\nconst %s: f32[600x8]{6}\ninput %p: i64[1] = noise(570, 570)\n"
      "input %pk: {1}[{0}x2x600x{2}] = noise(50, 62)\ninput %pv: {1}[{0}x2x600x{2}] = noise(50, "
      "62)\n"
      "input %n: i32[{0}] = noise(570, 570)\nconst %t: i32[] = 600\n"
      "%a = RotaryEmbedding(%q, %c, %s, %p) {{num_heads=6, {3}}}\n"
      "%b = RotaryEmbedding(%k, %c, %s, %p) {{num_heads=2, {3}}}\n"
      "%y, %nk, %nv = GroupQueryAttention(%a, %b, %v, %pk, %pv, %n, %t) {{kv_num_heads=2, "
      "num_heads=6}}\noutput %y\noutput %nk\noutput %nv\n",
      form.batch, form.cache, form.stored, form.attributes, form.rows, form.cosines, form.sines);
}

using OpenClTurned = OneOpenClKernel<kOpenClAttentionCached>;

TEST_F(OpenClTurned, TurnsQueriesAndKeys) {
  Check(Turned({}), 1);
  Check(Turned({.cache = "f32", .attributes = "rotary_embedding_dim=16", .batch = 2}), 1);
  // By right angles, so that rounding to bytes sees the same numbers.
  Check(Turned({.cache = "i8",
                .attributes = "rotary_embedding_dim=16",
                .cosines = " = noise(0, 0)",
                .sines = " = noise(1, 1)",
                .stored = 20}),
        1);
}

TEST_F(OpenClTurned, RefusesWhatItCannotCompute) {
  EXPECT_EQ(RefusalOf(Turned({.rows = 3})), "several new keys that are turned");
  std::string text = Turned({});
  text.replace(text.find("%b = RotaryEmbedding(%k, %c, %s"), 31, "%b = RotaryEmbedding(%k, %s, %c");
  EXPECT_EQ(RefusalOf(text), "queries and keys that turn differently");
}

}  // namespace
}  // namespace fettle::kernels
