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
      {"attention.group_query",
       "input %q: f32[2x3x24]\ninput %k: f32[2x3x8]\ninput %v: f32[2x3x8]\n"
       "input %pk: f32[2x2x5x4]\ninput %pv: f32[2x2x5x4]\nconst %n: i32[2] = 6 4\n"
       "const %t: i32[] = 8\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_blocks",
       "input %q: f32[1x37x120]\ninput %k: f32[1x37x60]\ninput %v: f32[1x37x36]\n"
       "const %n: i64[1] = 36\nconst %t: i32[] = 37\n%y, %nk = GroupQueryAttention(%q, %k, %v, _, "
       "_, %n, %t) {kv_num_heads=3, num_heads=6}\noutput %y\noutput %nk\n"},
      // Four bytes from 50 to 62 are a float, the step of a row, from 1e-8 to 0.2.
      {"attention.group_query_bytes",
       "input %q: f32[1x1x96]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
       "input %pk: i8[1x2x600x20] = noise(50, 62)\ninput %pv: i8[1x2x600x20] = noise(50, 62)\n"
       "const %n: i32[1] = 580\nconst %t: i32[] = 581\n%y, %nk, %nv = GroupQueryAttention(%q, "
       "%k, %v, %pk, %pv, %n, %t) {kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\n"
       "output %nv\n"},
      {"attention.group_query_bytes_chunk",
       "input %q: f32[2x9x102]\ninput %k: f32[2x9x34]\ninput %v: f32[2x9x10]\n"
       "input %pk: i8[2x2x71x21] = noise(50, 62)\ninput %pv: i8[2x2x71x9] = noise(50, 62)\n"
       "const %n: i32[2] = 79 40\nconst %t: i32[] = 80\n%y, %nk, %nv = GroupQueryAttention(%q, "
       "%k, %v, %pk, %pv, %n, %t) {kv_num_heads=2, local_window_size=20, num_heads=6}\n"
       "output %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_bytes_prompt",
       "input %q: f32[1x37x96]\ninput %k: f32[1x37x32]\ninput %v: f32[1x37x32]\n"
       "input %pk: i8[1x2x90x20] = noise(50, 62)\ninput %pv: i8[1x2x90x20] = noise(50, 62)\n"
       "const %n: i32[1] = 36\nconst %t: i32[] = 37\n%y, %nk, %nv = GroupQueryAttention(%q, %k, "
       "%v, %pk, %pv, %n, %t) {kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\n"
       "output %nv\n"},
      {"attention.group_query_cache_of",
       "input %q: f32[2x1x96]\ninput %k: f32[2x1x32]\ninput %v: f32[2x1x32]\n"
       "input %pk: f16[3x2x600x16]\ninput %pv: f16[3x2x600x16]\nconst %n: i32[2] = 580 3\n"
       "const %t: i32[] = 600\nconst %c: i32[2] = 2 0\n%y, %nk, %nv = GroupQueryAttention(%q, %k, "
       "%v, %pk, %pv, %n, %t, _, _, %c) {kv_num_heads=2, num_heads=6}\noutput %y\noutput "
       "%nk\noutput %nv\n"},
      {"attention.group_query_cache_of_chunk",
       "input %q: f32[1x37x96]\ninput %k: f32[1x37x32]\ninput %v: f32[1x37x32]\n"
       "input %pk: f32[3x2x71x16]\ninput %pv: f32[3x2x71x16]\nconst %n: i32[1] = 60\n"
       "const %t: i32[] = 80\nconst %c: i32[1] = 1\n%y, %nk, %nv = GroupQueryAttention(%q, %k, "
       "%v, %pk, %pv, %n, %t, _, _, %c) {kv_num_heads=2, num_heads=6}\noutput %y\noutput "
       "%nk\noutput %nv\n"},
      {"attention.group_query_cache_ends",
       "input %q: f32[2x2x68]\ninput %k: f32[2x2x34]\ninput %v: f32[2x2x10]\n"
       "input %pk: f32[2x2x1100x17]\ninput %pv: f32[2x2x1100x5]\nconst %n: i32[2] = 1097 300\n"
       "const %t: i32[] = 1098\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=4, softcap=2.0}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_chunk",
       "input %q: f32[2x9x96]\ninput %k: f32[2x9x32]\ninput %v: f32[2x9x32]\n"
       "input %pk: f32[2x2x71x16]\ninput %pv: f32[2x2x71x16]\nconst %n: i32[2] = 79 40\n"
       "const %t: i32[] = 80\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, local_window_size=20, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_crowd",
       "input %q: f32[1x5x560]\ninput %k: f32[1x5x8]\ninput %v: f32[1x5x4]\n"
       "input %pk: f32[1x1x40x8]\ninput %pv: f32[1x1x40x4]\nconst %n: i32[1] = 30\n"
       "const %t: i32[] = 40\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=1, num_heads=70}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_empty",
       "input %q: f32[2x0x24]\ninput %k: f32[2x0x8]\ninput %v: f32[2x0x8]\n"
       "input %pk: f32[2x2x5x4]\ninput %pv: f32[2x2x5x4]\nconst %n: i32[2] = 4 4\n"
       "const %t: i32[] = 5\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_half_cache",
       "input %q: f32[1x1x96]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
       "input %pk: f16[1x2x600x16]\ninput %pv: f16[1x2x600x16]\nconst %n: i32[1] = 580\n"
       "const %t: i32[] = 581\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_half_cache_chunk",
       "input %q: f32[1x70x96]\ninput %k: f32[1x70x32]\ninput %v: f32[1x70x32]\n"
       "input %pk: f16[1x2x300x16]\ninput %pv: f16[1x2x300x16]\nconst %n: i32[1] = 269\n"
       "const %t: i32[] = 300\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_half_cache_wide",
       "input %q: f32[1x1x640]\ninput %k: f32[1x1x128]\ninput %v: f32[1x1x128]\n"
       "input %pk: f16[1x2x90x64]\ninput %pv: f16[1x2x90x64]\nconst %n: i32[1] = 75\n"
       "const %t: i32[] = 76\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=10}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_halves",
       "input %q: f16[1x1x96]\ninput %k: f16[1x1x32]\ninput %v: f16[1x1x32]\n"
       "input %pk: f16[1x2x600x16]\ninput %pv: f16[1x2x600x16]\nconst %n: i32[1] = 580\n"
       "const %t: i32[] = 581\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_halves_chunk",
       "input %q: f16[1x70x96]\ninput %k: f16[1x70x32]\ninput %v: f16[1x70x32]\n"
       "input %pk: f16[1x2x300x16]\ninput %pv: f16[1x2x300x16]\nconst %n: i32[1] = 369\n"
       "const %t: i32[] = 370\n%y, _, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=2, local_window_size=40, num_heads=6}\noutput %y\noutput %nv\n"},
      {"attention.group_query_one",
       "input %q: f32[1x1x1]\ninput %k: f32[1x1x1]\ninput %v: f32[1x1x1]\n"
       "const %n: i32[1] = 0\nconst %t: i32[] = 1\n%y = GroupQueryAttention(%q, %k, %v, _, _, "
       "%n, %t) {kv_num_heads=1, num_heads=1}\noutput %y\n"},
      {"attention.group_query_prompt_window",
       "input %q: f32[2x5x6]\ninput %k: f32[2x5x3]\ninput %v: f32[2x5x3]\n"
       "input %b: f32[1x2x5x5]\nconst %n: i32[2] = 4 2\nconst %t: i32[1] = 5\n"
       "%y = GroupQueryAttention(%q, %k, %v, _, _, %n, %t, %b) {kv_num_heads=1, "
       "local_window_size=1, num_heads=2, scale=0.4, softcap=1.5}\noutput %y\n"},
      {"attention.group_query_sinks",
       "input %q: f32[1x1x96]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
       "input %pk: f32[1x2x600x16]\ninput %pv: f32[1x2x600x16]\nconst %n: i32[1] = 580\n"
       "const %t: i32[] = 581\ninput %s: f32[6] = noise(-2, 6)\n"
       "%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t, _, %s) "
       "{kv_num_heads=2, num_heads=6}\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_sinks_window",
       "input %q: f32[2x37x120]\ninput %k: f32[2x37x60]\ninput %v: f32[2x37x36]\n"
       "input %s: f32[6] = noise(-2, 2)\nconst %n: i64[2] = 36 20\nconst %t: i32[] = 37\n"
       "%y = GroupQueryAttention(%q, %k, %v, _, _, %n, %t, _, %s) {kv_num_heads=3, "
       "local_window_size=5, num_heads=6}\noutput %y\n"},
      {"attention.group_query_shared_cache",
       "input %q: f32[1x1x64]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
       "input %pk: f32[1x2x12x16]\ninput %pv: f32[1x2x12x16]\ninput %b: f32[1x1x1x8]\n"
       "input %n: i32[1] = noise(7, 7)\nconst %t: i32[] = 8\n%y, %nk, %nv = GroupQueryAttention("
       "%q, %k, %v, %pk, %pv, %n, %t, %b) {kv_num_heads=2, num_heads=4, softcap=3.0}\n"
       "output %y\noutput %nk\noutput %nv\n"},
      {"attention.group_query_step",
       "input %q: f32[1x1x544]\ninput %k: f32[1x1x32]\ninput %v: f32[1x1x32]\n"
       "input %pk: f32[1x1x1030x32]\ninput %pv: f32[1x1x1030x32]\nconst %n: i64[1] = 1030\n"
       "const %t: i32[] = 1031\ninput %b: f32[1x17x1x1031]\n%y = GroupQueryAttention(%q, %k, %v, "
       "%pk, %pv, %n, %t, %b) {kv_num_heads=1, local_window_size=700, num_heads=17}\noutput %y\n"},
      {"attention.group_query_step_bench",
       "input %q: f32[1x1x1024]\ninput %k: f32[1x1x256]\ninput %v: f32[1x1x256]\n"
       "input %pk: f32[1x4x511x64]\ninput %pv: f32[1x4x511x64]\nconst %n: i32[1] = 511\n"
       "const %t: i32[] = 512\n%y, %nk, %nv = GroupQueryAttention(%q, %k, %v, %pk, %pv, %n, %t) "
       "{kv_num_heads=4, num_heads=16}\noutput %y\noutput %nk\noutput %nv\n",
       true},
      {"attention.mask_ends",
       "const %m: i32[2] = 3 0\ninput %q: f32[2x3x4]\ninput %k: f32[2x5x4]\n"
       "%y = AttentionMask(%m, %q, %k)\noutput %y\n"},
      {"attention.mask_keys_past",
       "input %m: i32[2x7] = noise(0, 1)\ninput %q: f32[2x3x4]\ninput %k: f32[2x5x4]\n"
       "input %p: f32[2x1x2x4]\n%y = AttentionMask(%m, %q, %k, %p) {value=-3.0}\noutput %y\n"},
      {"attention.mask_pairs",
       "input %m: i32[2x3x5] = noise(0, 1)\ninput %q: f32[2x3x4]\ninput %k: f32[2x2x5x4]\n"
       "%y = AttentionMask(%m, %q, %k)\noutput %y\n"},
      {"attention.mask_ranges",
       "const %m: i32[4] = 5 3 1 2\ninput %q: f32[2x3x4]\ninput %k: f32[2x5x4]\n"
       "%y = AttentionMask(%m, %q, %k)\noutput %y\n"},
      {"attention.mask_square",
       "input %m: i32[1x1x5x5] = noise(0, 1)\ninput %q: f32[1x3x4]\ninput %k: f32[1x3x4]\n"
       "input %p: f32[1x1x2x4]\n%y = AttentionMask(%m, %q, %k, %p)\noutput %y\n"},
      {"attention.packed_groups",
       "input %q: f32[2x5x24]\ninput %k: f32[2x7x8]\ninput %v: f32[2x7x6]\n"
       "%y = Attention(%q, %k, %v) {kv_num_heads=2, q_num_heads=6}\noutput %y\n"},
      {"attention.past_causal_scores",
       "input %q: f32[1x2x3x4]\ninput %k: f32[1x2x3x4]\ninput %v: f32[1x2x3x5]\n"
       "input %pk: f32[1x2x4x4]\ninput %pv: f32[1x2x4x5]\n"
       "%y, %nk, %nv, %s = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1, "
       "qk_matmul_output_mode=3}\noutput %y\noutput %nk\noutput %nv\noutput %s\n"},
      {"attention.window",
       "input %q: f32[1x2x5x8]\ninput %k: f32[1x2x7x8]\ninput %v: f32[1x2x7x3]\n"
       "%y = Attention(%q, %k, %v) {left_window_size=2, right_window_size=1}\noutput %y\n"},
      {"attention.window_lengths",
       "input %q: f32[2x3x12]\ninput %k: f32[2x7x4]\ninput %v: f32[2x7x4]\n"
       "const %n: i64[2] = 7 4\n%y = Attention(%q, %k, %v, _, _, _, %n) {is_causal=1, "
       "kv_num_heads=1, left_window_size=0, q_num_heads=3}\noutput %y\n"},
      {"attention.no_queries",
       "input %q: f32[1x2x0x4]\ninput %k: f32[1x2x0x4]\ninput %v: f32[1x2x0x4]\n"
       "input %pk: f32[1x2x3x4]\ninput %pv: f32[1x2x3x4]\n"
       "%y, %nk, %nv = Attention(%q, %k, %v, _, %pk, %pv)\noutput %y\noutput %nk\noutput %nv\n"},
      {"attention.rotary",
       "input %x: f32[2x3x5x8]\nconst %c: f32[11x4]\nconst %s: f32[11x4]\n"
       "input %p: i64[2x5] = noise(0, 10)\n%y = RotaryEmbedding(%x, %c, %s, %p)\noutput %y\n"},
      {"attention.rotary_rows_behind",
       "input %x: f32[2x3x24]\nconst %c: f32[11x3]\nconst %s: f32[11x3]\ninput %p: i64[1]\n"
       "%y = RotaryEmbedding(%x, %c, %s, %p) {num_heads=3, rotary_embedding_dim=6}\noutput %y\n"},
      {"attention.rotary_rows_behind_each",
       "input %x: f32[3x2x24]\nconst %c: f32[11x3]\nconst %s: f32[11x3]\n"
       "input %p: i64[3] = noise(0, 9)\n%y = RotaryEmbedding(%x, %c, %s, %p) {num_heads=3, "
       "rotary_embedding_dim=6}\noutput %y\n"},
      {"attention.rotary_pairs_behind",
       "input %x: f32[1x5x16]\nconst %c: f32[7x4]\nconst %s: f32[7x4]\ninput %p: i64[1]\n"
       "%y = RotaryEmbedding(%x, %c, %s, %p) {interleaved=1, num_heads=2, "
       "rotary_embedding_dim=8}\noutput %y\n"},
      {"attention.rotary_from_position",
       "input %x: f32[2x3x5x8]\nconst %c: f32[11x3]\nconst %s: f32[11x3]\n"
       "const %p: i64[1] = 4\n%y = RotaryEmbedding(%x, %c, %s, %p) {rotary_embedding_dim=6}\n"
       "output %y\n"},
      {"attention.rotary_packed_interleaved",
       "input %x: f32[2x5x24]\nconst %c: f32[2x5x3]\nconst %s: f32[2x5x3]\n"
       "%y = RotaryEmbedding(%x, %c, %s) {interleaved=1, num_heads=3, rotary_embedding_dim=6}\n"
       "output %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
