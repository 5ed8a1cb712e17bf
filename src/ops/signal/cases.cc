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
      {"signal.dft_one", "input %x: f32[3x1x1]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.dft_no_rows", "input %x: f32[0x8x2]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.dft_real_full_inverse",
       "input %x: f32[3x60x1]\n%y = DFT(%x) {inverse=1}\noutput %y\n"},
      {"signal.dft_real_padded_odd",
       "input %x: f32[3x31x1]\nconst %n: i64[] = 42\n%y = DFT(%x, %n)\noutput %y\n"},
      {"signal.dft_all_radices", "input %x: f32[17x840x2]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.dft_middle_axis",
       "input %x: f32[2x105x9x2]\nconst %a: i64[] = -3\n%y = DFT(%x, _, %a) {inverse=1}\n"
       "output %y\n"},
      {"signal.dft_prime_rows", "input %x: f32[19x11x2]\n%y = DFT(%x) {inverse=1}\noutput %y\n"},
      {"signal.dft_onesided_long",
       "input %x: f32[1x6000x1]\n%y = DFT(%x) {onesided=1}\noutput %y\n"},
      {"signal.dft_onesided_inverse_long",
       "input %x: f32[2x1031x2]\nconst %n: i64[] = 2060\n"
       "%y = DFT(%x, %n) {inverse=1, onesided=1}\noutput %y\n"},
      {"signal.dft_onesided_inverse_rows",
       "input %x: f32[9x4x2]\nconst %n: i64[] = 30\n"
       "%y = DFT(%x, %n) {inverse=1, onesided=1}\noutput %y\n"},
      {"signal.dft_long_prime", "input %x: f32[1x1009x2]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.dft_long_rows", "input %x: f32[9x9000x1]\n%y = DFT(%x)\noutput %y\n", true},
      {"signal.dft_f64", "input %x: f64[3x770x1]\n%y = DFT(%x) {onesided=1}\noutput %y\n"},
      {"signal.dft_f64_long", "input %x: f64[1x1021x2]\n%y = DFT(%x) {inverse=1}\noutput %y\n"},
      {"signal.dft_f16", "input %x: f16[2x48x2]\n%y = DFT(%x)\noutput %y\n"},
      {"signal.stft_odd_window",
       "input %x: f32[2x50x1]\nconst %s: i64[] = 3\ninput %w: f32[9]\n"
       "%y = STFT(%x, %s, %w)\noutput %y\n"},
      {"signal.stft_no_window",
       "input %x: f32[1x40]\nconst %s: i64[] = 7\nconst %n: i64[] = 12\n"
       "%y = STFT(%x, %s, _, %n)\noutput %y\n"},
      {"signal.stft_f64_two_sided",
       "input %x: f64[1x40x1]\nconst %s: i64[] = 40\nconst %w: f64[20]\n"
       "%y = STFT(%x, %s, %w) {onesided=0}\noutput %y\n"},
      {"signal.stft_f16_window",
       "input %x: f16[1x64x1]\nconst %s: i64[] = 4\nconst %w: f16[16]\n"
       "%y = STFT(%x, %s, %w)\noutput %y\n"},
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
