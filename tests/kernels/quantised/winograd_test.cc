// Winograd's algorithm in whole numbers: sums are the oracle's bit for bit, at their bounds too.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised_avx2/winograd_tile.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedConvWinograd23;

namespace {

/// ByteSpan from `low` to `high`.
struct ByteSpan {
  const char* type;
  int low, high;
};
constexpr ByteSpan kInputSpans[] = {{"u8", 0, 255},    {"u8", 255, 255},   {"u8", 0, 0},
                                    {"i8", -128, 127}, {"i8", -128, -128}, {"i8", 127, 127}};
constexpr ByteSpan kWeightSpans[] = {{"i8", -128, 127}, {"i8", -128, -128}, {"i8", 127, 127},
                                     {"u8", 0, 255},    {"u8", 255, 255},   {"u8", 0, 0}};

struct Conv3x3 {
  int64_t batch, ic, oc, height, width;
  int pads[4];
  ByteSpan x, w;
  bool high_zeros;  // zero points at the upper end of their type, else at the lower one
};

int LimitOf(const ByteSpan& bytes, bool high) {
  const int low = bytes.type[0] == 'u' ? 0 : -128;
  return high ? low + 255 : low;
}

std::string ConvIntegerOf(const Conv3x3& c) {
  return fmt::format(
      "input %x: {}[{}x{}x{}x{}] = noise({}, {})\nconst %w: {}[{}x{}x3x3] = noise({}, {})\n"
      "const %zx: {}[] = {}\nconst %zw: {}[] = {}\n"
      "%y = ConvInteger(%x, %w, %zx, %zw) {{pads=[{},{},{},{}]}}\noutput %y\n",
      c.x.type, c.batch, c.ic, c.height, c.width, c.x.low, c.x.high, c.w.type, c.oc, c.ic, c.w.low,
      c.w.high, c.x.type, LimitOf(c.x, c.high_zeros), c.w.type, LimitOf(c.w, c.high_zeros),
      c.pads[0], c.pads[1], c.pads[2], c.pads[3]);
}

/// Forces the one target that has the kernel; false where nothing here has it.
bool ForceAvx2() {
  const auto targets = SimdTargets();
  if (std::find(targets.begin(), targets.end(), "AVX2") == targets.end()) return false;
  ForceSimdTarget("AVX2");
  if (RunsAvx2() && GetQuantKernels(kWinogradColumns).wide) return true;
  ForceSimdTarget("");
  return false;
}

TEST(QuantisedWinograd, SumsOfAllBoundsAreExact) {
  if (!ForceAvx2()) GTEST_SKIP() << "no AVX2";
  for (const ByteSpan& x : kInputSpans) {
    for (const ByteSpan& w : kWeightSpans) {
      for (const bool high : {false, true}) {
        const Conv3x3 c{1, kMostWinogradChannels, 3, 3, 4, {1, 1, 1, 1}, x, w, high};
        SCOPED_TRACE(ConvIntegerOf(c));
        CheckKernel(kCpuQuantisedConvWinograd23, ConvIntegerOf(c), {});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(QuantisedWinograd, RandomCasesAreExact) {
  if (!ForceAvx2()) GTEST_SKIP() << "no AVX2";
  constexpr int kConvolutions = 60;
  std::mt19937 random(5);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  for (int i = 0; i < kConvolutions; ++i) {
    Conv3x3 c{
        draw(1, 2), draw(1, 40),    draw(1, 40),     draw(1, 19),    draw(1, i % 4 == 0 ? 150 : 19),
        {},         kInputSpans[0], kWeightSpans[0], draw(0, 1) == 1};
    for (int& pad : c.pads) pad = draw(1, 2);
    c.x = kInputSpans[draw(0, 1) * 3];
    c.w = kWeightSpans[draw(0, 1) * 3];
    SCOPED_TRACE(ConvIntegerOf(c));
    CheckKernel(kCpuQuantisedConvWinograd23, ConvIntegerOf(c), {});
  }
  ForceSimdTarget("");
}

TEST(QuantisedWinograd, ResultsAreBytesFloatsAndSumsWithShortcuts) {
  if (!ForceAvx2()) GTEST_SKIP() << "no AVX2";
  const std::string conv =
      "input %q: u8[2x21x9x13] = noise(0, 255)\nconst %sx: f32[] = 0.02\nconst %zx: u8[] = 121\n"
      "const %w: i8[35x21x3x3] = noise(-127, 127)\nconst %sw: f32[35] = noise(0.001, 0.01)\n"
      "const %zw: i8[35] = splat 0\nconst %b: f32[35]\nconst %sy: f32[] = 0.1\n"
      "const %zy: u8[] = 90\n%x = DequantizeLinear(%q, %sx, %zx)\n"
      "%f = DequantizeLinear(%w, %sw, %zw) {axis=0}\n%c = Conv(%x, %f, %b) {pads=[1,1,1,1]}\n";
  const std::string bytes = "%y = QuantizeLinear(%c, %sy, %zy)\noutput %y\n";
  const std::string shortcut =
      "input %o: u8[2x35x9x13] = noise(0, 255)\nconst %so: f32[] = 0.033\n"
      "const %zo: u8[] = 90\nconst %st: f32[] = 0.061\nconst %zt: u8[] = 77\n"
      "%p = QuantizeLinear(%c, %sy, %zy)\n%d = DequantizeLinear(%p, %sy, %zy)\n"
      "%e = DequantizeLinear(%o, %so, %zo)\n%sum = Add(%e, %d)\n%r = Relu(%sum)\n"
      "%y = QuantizeLinear(%r, %st, %zt)\noutput %y\n";
  // A step of the floats that the oracle rounds in another order.
  constexpr Tolerance kStep = {.atol = 1, .rtol = 0};
  CheckKernel(kCpuQuantisedConvWinograd23, conv + bytes, kStep);
  CheckKernel(kCpuQuantisedConvWinograd23, conv + shortcut, kStep);
  CheckKernel(kCpuQuantisedConvWinograd23, conv + "%y = Relu(%c)\noutput %y\n",
              {.atol = 1e-3, .rtol = 1e-5});
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
