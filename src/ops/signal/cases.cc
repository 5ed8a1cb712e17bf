#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> SignalCases() {
  static constexpr Case kCases[] = {
      {"signal.dft_real_prime", "input %x: f32[1x13x1]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.dft_complex_inverse",
       "input %x: f32[2x16x2]\n%y = DFT(%x) {inverse=1}\noutput %y\n"},
      {"signal.dft_onesided_padded",
       "input %x: f32[2x10x3x1]\nconst %n: i64[] = 16\nconst %a: i64[] = 1\n"
       "%y = DFT(%x, %n, %a) {onesided=1}\noutput %y\n"},
      {"signal.dft_onesided_inverse",
       "input %x: f32[2x7x2]\n%y = DFT(%x) {inverse=1, onesided=1}\noutput %y\n"},
      {"signal.dft_onesided_inverse_odd",
       "input %x: f32[2x7x2]\nconst %n: i64[] = 13\n"
       "%y = DFT(%x, %n) {inverse=1, onesided=1}\noutput %y\n"},
      {"signal.dft_cut",
       "input %x: f32[1x9x2]\nconst %n: i64[] = 5\n%y = DFT(%x, %n)\noutput %y\n"},
      {"signal.stft_window",
       "input %x: f32[2x64x1]\nconst %s: i64[] = 8\nconst %w: f32[16]\nconst %n: i64[] = 16\n"
       "%y = STFT(%x, %s, %w, %n)\noutput %y\n"},
      {"signal.stft_complex_no_window",
       "input %x: f32[1x37x2]\nconst %s: i64[] = 5\nconst %n: i64[] = 11\n"
       "%y = STFT(%x, %s, _, %n) {onesided=0}\noutput %y\n"},
      {"signal.hann", "const %n: i64[] = 13\n%y = HannWindow(%n) {to=\"f32\"}\noutput %y\n"},
      {"signal.hann_one_symmetric",
       "const %n: i64[] = 1\n%y = HannWindow(%n) {periodic=0, to=\"f32\"}\noutput %y\n"},
      {"signal.hamming_f64",
       "const %n: i64[] = 16\n%y = HammingWindow(%n) {to=\"f64\"}\noutput %y\n"},
      {"signal.blackman_symmetric",
       "const %n: i64[] = 10\n%y = BlackmanWindow(%n) {periodic=0, to=\"f32\"}\noutput %y\n"},
      {"signal.mel_weight_matrix",
       "const %b: i64[] = 8\nconst %n: i64[] = 16\nconst %r: i64[] = 8192\nconst %l: f32[] = 0\n"
       "const %h: f32[] = 4096\n%y = MelWeightMatrix(%b, %n, %r, %l, %h) {to=\"f32\"}\n"
       "output %y\n"},
      {"signal.stft_bench",
       "input %x: f32[1x16000x1]\nconst %s: i64[] = 160\nconst %w: f32[400]\n"
       "const %n: i64[] = 400\n%y = STFT(%x, %s, %w, %n)\noutput %y\n",
       true},
  };
  return kCases;
}

}  // namespace fettle::ops
