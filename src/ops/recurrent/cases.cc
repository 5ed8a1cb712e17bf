#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> RecurrentCases() {
  static constexpr Case kCases[] = {
      {"recurrent.lstm",
       "input %x: f32[5x3x7]\nconst %w: f32[1x20x7]\nconst %r: f32[1x20x5]\nconst %b: f32[1x40]\n"
       "%y, %h, %c = LSTM(%x, %w, %r, %b) {hidden_size=5}\noutput %y\noutput %h\noutput %c\n"},
      {"recurrent.lstm_bidirectional_lengths",
       "input %x: f32[5x2x3]\nconst %w: f32[2x16x3]\nconst %r: f32[2x16x4]\nconst %b: f32[2x32]\n"
       "const %s: i32[2] = 3 5\n"
       "%y, %h, %c = LSTM(%x, %w, %r, %b, %s) {direction=\"bidirectional\", hidden_size=4}\n"
       "output %y\noutput %h\noutput %c\n"},
      {"recurrent.gru_given_lengths",
       "input %x: f32[6x3x4]\nconst %w: f32[2x15x4]\nconst %r: f32[2x15x5]\nconst %b: f32[2x30]\n"
       "input %s: i32[3] = noise(0, 6)\n"
       "%y, %h = GRU(%x, %w, %r, %b, %s) {direction=\"bidirectional\", hidden_size=5}\n"
       "output %y\noutput %h\n"},
      {"recurrent.lstm_constant_sequence",
       "const %x: f32[9x2x24]\nconst %w: f32[1x96x24]\nconst %r: f32[1x96x24]\n"
       "input %h0: f32[1x2x24]\n%y, %h, %c = LSTM(%x, %w, %r, _, _, %h0) {hidden_size=24}\n"
       "output %y\noutput %h\noutput %c\n"},
      {"recurrent.lstm_peepholes_states",
       "input %x: f32[2x2x3]\nconst %w: f32[1x16x3]\nconst %r: f32[1x16x4]\nconst %b: f32[1x32]\n"
       "input %h0: f32[1x2x4]\ninput %c0: f32[1x2x4]\nconst %p: f32[1x12]\n"
       "%y, %h = LSTM(%x, %w, %r, %b, _, %h0, %c0, %p) {clip=0.5, direction=\"reverse\", "
       "hidden_size=4}\noutput %y\noutput %h\n"},
      {"recurrent.lstm_last_state_only",
       "input %x: f32[1x1x1]\nconst %w: f32[1x4x1]\nconst %r: f32[1x4x1]\n"
       "_, %h = LSTM(%x, %w, %r) {hidden_size=1}\noutput %h\n"},
      {"recurrent.lstm_batch_first_coupled",
       "input %x: f32[3x4x5]\nconst %w: f32[1x8x5]\nconst %r: f32[1x8x2]\n"
       "%y, %h, %c = LSTM(%x, %w, %r) {hidden_size=2, input_forget=1, layout=1}\n"
       "output %y\noutput %h\noutput %c\n"},
      {"recurrent.gru",
       "input %x: f32[5x3x7]\nconst %w: f32[1x15x7]\nconst %r: f32[1x15x5]\nconst %b: f32[1x30]\n"
       "%y, %h = GRU(%x, %w, %r, %b) {hidden_size=5}\noutput %y\noutput %h\n"},
      {"recurrent.gru_linear_before_reset",
       "input %x: f32[5x3x7]\nconst %w: f32[2x15x7]\nconst %r: f32[2x15x5]\nconst %b: f32[2x30]\n"
       "%y, %h = GRU(%x, %w, %r, %b) {direction=\"bidirectional\", hidden_size=5, "
       "linear_before_reset=1}\noutput %y\noutput %h\n"},
      {"recurrent.lstm_states",
       "input %x: f32[3x2x5]\nconst %w: f32[2x24x5]\nconst %r: f32[2x24x6]\ninput %h0: f32[2x2x6]\n"
       "const %c0: f32[2x2x6]\n%y, %h, %c = LSTM(%x, %w, %r, _, _, %h0, %c0) "
       "{direction=\"bidirectional\", hidden_size=6}\noutput %y\noutput %h\noutput %c\n"},
      {"recurrent.lstm_bytes",
       "input %x: f32[4x3x5]\n"
       "const %w: f32[2x12x5] = -32 0.75 2 -2 1.5 -0.25 -1.75 31.75 -1.25 0.75 1.75 -0.25 1 "
       "-1.25 -0.25 -2 -0.5 1.25 0 -0.75 1 -0.75 -1.5 -1 1.5 -1 -1 -2 -2 -0.5 -0.5 -0.75 -0.75 "
       "0.25 0.5 -0.5 -0.5 -0.75 -0.5 1 0.25 -2 0.75 1.25 -0.75 -1 0 -1.5 0.5 0.25 -2 0.5 -1.5 "
       "0.25 0.75 0.25 1.75 0.5 -0.75 1.75 1.75 -0.75 -1.75 0 -2 0.75 1 -2 1.25 0.75 1 -2 1.5 "
       "-1.75 -0.75 -0.5 -1.25 -0.25 1.5 0.75 2 0.75 2 0 1.5 -1.25 0.75 0.25 -1.75 1.25 -1.5 "
       "-0.5 0.5 2 0.75 -1 0.5 0 -1.5 0.25 0.5 0.25 -0.75 -1.5 -1 0.25 1.75 -0.75 -1.75 -1.5 1 "
       "-1.75 -0.25 0.75 0 1.5 1.25 -1 -1.75 -1.75\n"
       "const %r: f32[2x12x3] = 0.875 0.25 -0.25 -0.5 -0.5 0.625 -0.625 -0.375 0.625 0.375 -0.5 "
       "-0.875 0.625 0.125 -0.5 0.75 -0.375 1 0.75 0.875 0.25 0.875 0 0.125 0.875 0.5 -0.5 "
       "-0.625 0.5 -0.375 0.875 0.25 -0.375 -0.75 0.875 0 1 1 0.375 -0.75 0.375 -0.875 0.125 "
       "0.375 0 0.875 0 0.125 0.25 -0.375 -1 0.875 0 0.25 0 0.75 0.125 1 0.375 0.375 0 0.375 "
       "0.625 0.375 -0.375 0.75 0.375 0.25 1 -0.5 1 -0.375\n"
       "const %b: f32[2x24]\nconst %s: f32[2] = 0.25 0.25\nconst %t: f32[2x12] = 0.125 0.125 0.125 "
       "0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 "
       "0.125 0.125 0.125 0.125 0.125 0.125\n"
       "input %h0: f32[2x3x3]\n%y, %h, %c = LSTM(%x, %w, %r, %b, _, %h0, _, _, %s, %t) "
       "{direction=\"bidirectional\", hidden_size=3}\noutput %y\noutput %h\noutput %c\n"},
      {"recurrent.lstm_wide",
       "input %x: f32[3x2x5]\nconst %w: f32[1x548x5]\nconst %r: f32[1x548x137] = noise(-0.1, 0.1)\n"
       "%y, %h, %c = LSTM(%x, %w, %r) {hidden_size=137}\noutput %y\noutput %h\noutput %c\n"},
      {"recurrent.gru_wide",
       "input %x: f32[2x1x3]\nconst %w: f32[1x786x3]\nconst %r: f32[1x786x262] = noise(-0.1, 0.1)\n"
       "const %b: f32[1x1572]\n%y, %h = GRU(%x, %w, %r, %b) {hidden_size=262}\noutput %y\n"
       "output %h\n"},
      {"recurrent.rnn_reverse",
       "input %x: f32[4x2x3]\nconst %w: f32[1x5x3]\nconst %r: f32[1x5x5]\nconst %b: f32[1x10]\n"
       "%y = RNN(%x, %w, %r, %b) {direction=\"reverse\", hidden_size=5}\noutput %y\n"},
      {"recurrent.rnn_activations",
       "input %x: f32[4x2x3]\nconst %w: f32[2x5x3]\nconst %r: f32[2x5x5]\n"
       "%y, %h = RNN(%x, %w, %r) {activation_alpha=[0.3, 0.1], activation_beta=[0.4], "
       "activations=[\"HardSigmoid\", \"LeakyRelu\"], direction=\"bidirectional\", "
       "hidden_size=5}\noutput %y\noutput %h\n"},
      {"recurrent.rnn_no_steps",
       "input %x: f32[0x2x3]\nconst %w: f32[1x5x3]\nconst %r: f32[1x5x5]\n"
       "%y, %h = RNN(%x, %w, %r) {hidden_size=5}\noutput %y\noutput %h\n"},
      // Small weights: with large ones the recurrence is chaotic and amplifies rounding without
      // bound.
      {"recurrent.lstm_bench",
       "input %x: f32[64x1x128]\nconst %w: f32[1x1024x128] = noise(-0.1, 0.1)\nconst %r: "
       "f32[1x1024x256] = noise(-0.1, 0.1)\n"
       "const %b: f32[1x2048]\n%y = LSTM(%x, %w, %r, %b) {hidden_size=256}\noutput %y\n",
       true},
      {"recurrent.gru_bench",
       "input %x: f32[64x1x128]\nconst %w: f32[1x768x128] = noise(-0.1, 0.1)\nconst %r: "
       "f32[1x768x256] = noise(-0.1, 0.1)\n"
       "const %b: f32[1x1536]\n%y = GRU(%x, %w, %r, %b) {hidden_size=256, "
       "linear_before_reset=1}\noutput %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
