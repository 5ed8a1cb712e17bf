#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> StateCases() {
  static constexpr Case kCases[] = {
      {"state.causal_conv",
       "input %x: f32[2x3x7]\ninput %w: f32[3x1x4]\n%y, %s = CausalConvWithState(%x, %w)\n"
       "output %y\noutput %s\n"},
      {"state.causal_conv_empty",
       "input %x: f32[2x3x0]\ninput %w: f32[3x1x4]\ninput %p: f32[2x3x3]\n"
       "%y, %s = CausalConvWithState(%x, %w, _, %p)\noutput %y\noutput %s\n"},
      {"state.causal_conv_one_tap",
       "input %x: f32[1x1x1]\ninput %w: f32[1x1x1]\n%y = CausalConvWithState(%x, %w)\noutput %y\n"},
      {"state.causal_conv_short_silu",
       "input %x: f32[1x5x2]\ninput %w: f32[5x1x4]\ninput %b: f32[5]\ninput %p: f32[1x5x3]\n"
       "%y, %s = CausalConvWithState(%x, %w, %b, %p) {activation=\"silu\"}\noutput %y\n"
       "output %s\n"},
      {"state.linear_attention",
       "input %q: f32[2x5x12]\ninput %k: f32[2x5x12]\ninput %v: f32[2x5x21]\n"
       "%y, %s = LinearAttention(%q, %k, %v) {kv_num_heads=3, q_num_heads=3, "
       "update_rule=\"linear\"}\noutput %y\noutput %s\n"},
      {"state.linear_attention_delta",
       "input %q: f32[1x7x8]\ninput %k: f32[1x7x8]\ninput %v: f32[1x7x6]\n"
       "input %b: f32[1x7x1] = noise(0, 1)\n"
       "%y = LinearAttention(%q, %k, %v, _, _, %b) {kv_num_heads=2, q_num_heads=2, scale=0.5, "
       "update_rule=\"delta\"}\noutput %y\n"},
      {"state.linear_attention_empty",
       "input %q: f32[1x0x8]\ninput %k: f32[1x0x8]\ninput %v: f32[1x0x6]\n"
       "%y, %s = LinearAttention(%q, %k, %v) {kv_num_heads=2, q_num_heads=2, "
       "update_rule=\"linear\"}\noutput %y\noutput %s\n"},
      {"state.linear_attention_gated_delta_shared",
       "input %q: f32[2x3x24]\ninput %k: f32[2x3x8]\ninput %v: f32[2x3x10]\n"
       "input %p: f32[2x2x4x5]\ninput %g: f32[2x3x8] = noise(-1, 0)\n"
       "input %b: f32[2x3x2] = noise(0, 1)\n"
       "%y, %s = LinearAttention(%q, %k, %v, %p, %g, %b) {kv_num_heads=2, q_num_heads=6}\n"
       "output %y\noutput %s\n"},
      {"state.linear_attention_gated_per_head",
       "input %q: f32[1x4x6]\ninput %k: f32[1x4x6]\ninput %v: f32[1x4x4]\n"
       "input %g: f32[1x4x2] = noise(-1, 0)\n"
       "%y, %s = LinearAttention(%q, %k, %v, _, %g) {kv_num_heads=2, q_num_heads=2, "
       "update_rule=\"gated\"}\noutput %y\noutput %s\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
