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
      {"state.slot_conv",
       "input %x: f32[1x7x11]\ninput %w: f32[4x11]\ninput %b: f32[11]\ninput %p: f32[2x3x11]\n"
       "const %s: i32[1x3] = 1 0 7\n%y, %n = SlotConv(%x, %w, %p, %s, %b) {silu=1}\noutput %y\n"
       "output %n\n"},
      {"state.slot_conv_filled_up",
       "input %x: f32[2x5x35]\ninput %w: f32[3x35]\ninput %p: f32[4x2x35]\n"
       "const %s: i32[2x3] = -1 1 1 2 2 4\n%y, %n = SlotConv(%x, %w, %p, %s)\noutput %y\n"
       "output %n\n"},
      {"state.slot_conv_step",
       "input %x: f32[3x1x16]\ninput %w: f32[2x16]\ninput %p: f32[5x1x16]\n"
       "const %s: i32[3x3] = 0 3 1 -1 1 1 4 4 0\n%y, %n = SlotConv(%x, %w, %p, %s)\n"
       "output %y\noutput %n\n"},
      {"state.slot_scan_of_heads",
       "input %q: f32[1x9x26]\ninput %k: f32[1x9x26]\ninput %v: f32[1x9x76]\n"
       "input %g: f32[1x9x4] = noise(-1, 0)\ninput %p: f32[2x4x13x19]\n"
       "const %s: i32[1x3] = 0 1 9\n%y, %n = SlotScan(%q, %k, %v, %p, %s, %g)\noutput %y\n"
       "output %n\n"},
      {"state.slot_scan_of_keys",
       "input %q: f32[2x3x8]\ninput %k: f32[2x3x8]\ninput %v: f32[2x3x64]\n"
       "input %g: f32[2x3x16] = noise(-1, 0)\ninput %p: f32[4x4x4x16]\n"
       "const %s: i32[2x3] = -1 1 3 2 2 2\n"
       "%y, %n = SlotScan(%q, %k, %v, %p, %s, %g) {scale=0.5, strided=1}\noutput %y\n"
       "output %n\n"},
      {"state.slot_scan_of_values",
       "input %q: f32[1x6x5]\ninput %k: f32[1x6x5]\ninput %v: f32[1x6x83]\n"
       "input %g: f32[1x6x83] = noise(0, 1)\ninput %r: f32[5x83] = noise(-2, 0)\n"
       "input %p: f32[1x1x5x83]\nconst %s: i32[1x3] = 0 0 5\n"
       "%y, %n = SlotScan(%q, %k, %v, %p, %s, %g, _, %r)\noutput %y\noutput %n\n"},
      {"state.slot_scan_delta",
       "input %q: f32[2x5x12] = noise(-0.5, 0.5)\ninput %k: f32[2x5x12] = noise(-0.5, 0.5)\n"
       "input %v: f32[2x5x84]\ninput %g: f32[2x5x4] = noise(-1, 0)\n"
       "input %b: f32[2x5x4] = noise(0, 1)\ninput %p: f32[5x4x6x21]\n"
       "const %s: i32[2x3] = 4 0 5 -1 2 3\n"
       "%y, %n = SlotScan(%q, %k, %v, %p, %s, %g, %b) {strided=1}\noutput %y\noutput %n\n"},
      {"state.slot_scan_delta_of_keys",
       "input %q: f32[1x4x16] = noise(-0.5, 0.5)\ninput %k: f32[1x4x16] = noise(-0.5, 0.5)\n"
       "input %v: f32[1x4x64]\ninput %g: f32[1x4x16] = noise(-1, 0)\n"
       "input %b: f32[1x4x2] = noise(0, 1)\ninput %p: f32[2x2x8x32]\nconst %s: i32[1x3] = 1 0 4\n"
       "%y, %n = SlotScan(%q, %k, %v, %p, %s, %g, %b)\noutput %y\noutput %n\n"},
      {"state.slot_scan_step",
       "input %q: f32[3x1x16]\ninput %k: f32[3x1x16]\ninput %v: f32[3x1x72]\n"
       "input %p: f32[6x1x16x72]\nconst %s: i32[3x3] = 0 1 1 3 2 1 -1 5 1\n"
       "%y, %n = SlotScan(%q, %k, %v, %p, %s)\noutput %y\noutput %n\n"},
      {"state.slot_scan_large",
       "input %q: f32[1x16x128] = noise(-0.5, 0.5)\ninput %k: f32[1x16x128] = noise(-0.5, 0.5)\n"
       "input %v: f32[1x16x384] = noise(-1, 1)\ninput %g: f32[1x16x6] = noise(-1, 0)\n"
       "input %p: f32[2x6x128x64] = noise(-1, 1)\nconst %s: i32[1x3] = 0 1 16\n%y, %n = "
       "SlotScan(%q, %k, %v, %p, %s, %g)\n"
       "output %y\noutput %n\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
