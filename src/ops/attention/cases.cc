#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> AttentionCases() {
  static constexpr Case kCases[] = {
      {"attention.bool_mask",
       "input %q: f32[2x3x5x8]\ninput %k: f32[2x3x7x8]\ninput %v: f32[2x3x7x4]\n"
       "input %m: bool[5x7] = noise(0, 1)\n%y = Attention(%q, %k, %v, %m)\noutput %y\n"},
      {"attention.causal_bench",
       "input %q: f32[1x12x197x64]\ninput %k: f32[1x12x197x64]\ninput %v: f32[1x12x197x64]\n"
       "%y = Attention(%q, %k, %v) {is_causal=1}\noutput %y\n",
       true},
      {"attention.float_mask_softcap",
       "input %q: f32[1x2x5x8]\ninput %k: f32[1x2x7x8]\ninput %v: f32[1x2x7x8]\n"
       "input %m: f32[2x1x7]\n%y = Attention(%q, %k, %v, %m) {scale=0.3, softcap=2.0}\n"
       "output %y\n"},
      {"attention.packed_groups",
       "input %q: f32[2x5x24]\ninput %k: f32[2x7x8]\ninput %v: f32[2x7x6]\n"
       "%y = Attention(%q, %k, %v) {kv_num_heads=2, q_num_heads=6}\noutput %y\n"},
      {"attention.past_causal_scores",
       "input %q: f32[1x2x3x4]\ninput %k: f32[1x2x3x4]\ninput %v: f32[1x2x3x5]\n"
       "input %pk: f32[1x2x4x4]\ninput %pv: f32[1x2x4x5]\n"
       "%y, %nk, %nv, %s = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1, "
       "qk_matmul_output_mode=3}\noutput %y\noutput %nk\noutput %nv\noutput %s\n"},
      {"attention.rotary",
       "input %x: f32[2x3x5x8]\nconst %c: f32[11x4]\nconst %s: f32[11x4]\n"
       "input %p: i64[2x5] = noise(0, 10)\n%y = RotaryEmbedding(%x, %c, %s, %p)\noutput %y\n"},
      {"attention.rotary_packed_interleaved",
       "input %x: f32[2x5x24]\nconst %c: f32[2x5x3]\nconst %s: f32[2x5x3]\n"
       "%y = RotaryEmbedding(%x, %c, %s) {interleaved=1, num_heads=3, rotary_embedding_dim=6}\n"
       "output %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
