// What follows a product of bits, in registers or not: every instruction set, both ways of
// counting.
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBinaryProduct;
extern const KernelDesc kCpuBinaryTables;

namespace {

/// Numbers that sums and products of few of are exact: signs are the oracle's.
std::string Eighths(std::string_view name, std::string_view shape, int64_t count, int from) {
  std::string text = fmt::format("const %{}: f32[{}] =", name, shape);
  for (int64_t i = 0; i < count; ++i)
    text += fmt::format(" {}", 0.125 * static_cast<double>(i * 7 % 16 + from));
  return text + "\n";
}

/// Results of weights -w and w: `outputs` of them, without a bias.
std::string Results(int64_t outputs) {
  std::string text = fmt::format("const %r: f32[3x{}] =", outputs);
  for (double sign : {-1.0, 1.0, 0.0}) {
    for (int64_t i = 0; i < outputs; ++i)
      text += fmt::format(" {}", sign * 0.125 * static_cast<double>(i % 3 + 1));
  }
  return text + "\n";
}

std::string Residual(int64_t outputs, std::string_view attributes, bool keeps_floats,
                     std::string_view packing = "low=0.0, high=inf") {
  std::string text = fmt::format(
      "input %x: u64[2x7x6x2] = noise(0, 9007199254740991)\ninput %u: f32[2x{0}x7x6]\n"
      "const %two: f32[1] = splat 2.0\n"
      "const %w: u64[{0}x3x3x2] = noise(0, 9007199254740991)\n",
      outputs);
  text += Results(outputs) + Eighths("s", fmt::format("{}x1x1", outputs), outputs, 1) +
          Eighths("b", fmt::format("{}x1x1", outputs), outputs, -8) +
          Eighths("p", fmt::format("{}x1x1", outputs), outputs, 1);
  text += fmt::format(
      "%c = BinaryConv(%x, %w, %r) {{channels=128, pads=[1,1,1,1]{}}}\n"
      "%m = Mul(%c, %s)\n%a = Add(%m, %b)\n%q = PRelu(%a, %p)\n%e = Add(%q, %u)\n%t = Add(%e, %b)\n"
      "%y = PackBits(%t) {{{}}}\n",
      attributes, packing);
  return text + (keeps_floats ? "output %e\noutput %y\n" : "output %y\n");
}

void CheckOnEach(const std::string& text) {
  const CaseGroup group = ParseGroup(text);
  for (const KernelDesc* kernel : {&kCpuBinaryProduct, &kCpuBinaryTables}) {
    for (int threads : {1, 3}) {
      const CpuDevice& device = TestDevice(3);
      for (std::string_view target : SimdTargets()) {
        ForceSimdTarget(target);
        const auto candidates = CandidatesOf(*kernel, *group.graph, device);
        if (!candidates.ok() && kernel == &kCpuBinaryTables) continue;
        ASSERT_TRUE(candidates.ok()) << candidates.status().message();
        EXPECT_TRUE(CheckRun(
            {*kernel, group, {group.graph, candidates->front(), threads}, {}, std::string(target)},
            device))
            << kernel->name << " " << target;
      }
      ForceSimdTarget("");
    }
  }
}

TEST(BinaryTail, ResidualSumsAgreeWithTheOracle) {
  for (int64_t outputs : {32, 64, 96, 160, 24}) {
    CheckOnEach(Residual(outputs, "", true));
    CheckOnEach(Residual(outputs, ", x_zero=0.0", false));
  }
}

TEST(BinaryTail, ReluOfResidualSumsAgreesWithTheOracle) {
  for (int64_t outputs : {32, 64, 24}) {
    std::string text = Residual(outputs, "", true);
    const std::string_view activation = "PRelu(%a, %p)";
    text.replace(text.find(activation), activation.size(), "Relu(%a)");
    CheckOnEach(text);
  }
}

/// One channel is NaN, which no bounds hold; some sums are 0; subnormal bounds stay integers.
TEST(BinaryTail, BoundsOfBitsAreThoseOfTheOracle) {
  std::string with_nan = Residual(64, "", true, "low=-0.5, high=2.0, invert=1");
  const size_t first = with_nan.find("const %b: f32[64x1x1] = ") + 24;
  with_nan.replace(first, with_nan.find(' ', first) - first, "nan");
  CheckOnEach(with_nan);
  for (const std::string_view packing : {"low=-inf, high=-0.0", "low=1e-40, high=inf",
                                         "low=-inf, high=-1e-40, invert=1", "low=0.0, high=0.0"})
    CheckOnEach(Residual(64, "", true, packing));
}

}  // namespace
}  // namespace fettle::kernels
