// ConvInteger of computed filters: windows of bytes as columns of a product.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuQuantisedGemm;
extern const KernelDesc kCpuQuantisedInteger;

namespace {

/// Draws convolutions of up to three spatial axes.
class DrawnConv {
 public:
  explicit DrawnConv(int seed) : random_(seed) {}

  std::string Next() {
    const int rank = Some(1, 3), groups = Some(0, 2) == 0 ? Some(2, 5) : 1;
    const int inputs = Some(1, 9), outputs = groups * Some(1, 20);
    std::string x = fmt::format("{}x{}", Some(1, 2), groups * inputs);
    std::string w = fmt::format("{}x{}", outputs, inputs);
    std::string strides, dilations, begins, ends;
    for (int i = 0; i < rank; ++i) {
      const int side = Some(1, 4), dilation = Some(1, 3), begin = Some(0, 3), end = Some(0, 3);
      const int least = std::max(1, (side - 1) * dilation + 1 - begin - end);
      x += fmt::format("x{}", least + Some(0, rank == 1 ? 70 : 9));
      w += fmt::format("x{}", side);
      const char* comma = i == 0 ? "" : ", ";
      strides += fmt::format("{}{}", comma, Some(1, 4));
      dilations += fmt::format("{}{}", comma, dilation);
      begins += fmt::format("{}{}", comma, begin);
      ends += fmt::format(", {}", end);
    }
    const bool x_signed = Some(0, 1) == 1, w_signed = Some(0, 1) == 1;
    const std::string zeros = Some(0, 1) == 0 ? "" : fmt::format("{}", outputs);
    return fmt::format(
        "input %x: {0}\ninput %w: {1}\ninput %u: {2}\ninput %v: {3}\n"
        "%y = ConvInteger(%x, %w{4}) {{group={5}, strides=[{6}], dilations=[{7}], "
        "pads=[{8}{9}]}}\noutput %y\n",
        Bytes(x_signed, x), Bytes(w_signed, w), Bytes(x_signed, ""), Bytes(w_signed, zeros),
        Some(0, 3) == 0 ? "" : ", %u, %v", groups, strides, dilations, begins, ends);
  }

 private:
  int Some(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  static std::string Bytes(bool is_signed, std::string_view dims) {
    return fmt::format("{}[{}] = noise({})", is_signed ? "i8" : "u8", dims,
                       is_signed ? "-128, 127" : "0, 255");
  }

  std::mt19937 random_;
};

TEST(QuantisedWindows, SumsAreExact) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    DrawnConv drawn(7);
    for (int i = 0; i < 60; ++i) {
      const std::string text = drawn.Next();
      SCOPED_TRACE(fmt::format("{} {}", target, text));
      CheckKernel(kCpuQuantisedInteger, text, {});
    }
  }
  ForceSimdTarget("");
}

TEST(QuantisedWindows, SumsWrapAround) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    CheckKernel(kCpuQuantisedInteger,
                "input %x: u8[1x3800x4x4] = noise(254, 255)\n"
                "input %w: u8[2x3800x3x3] = noise(254, 255)\n"
                "%y = ConvInteger(%x, %w)\noutput %y\n",
                {});
  }
  ForceSimdTarget("");
}

TEST(QuantisedWindows, SumsOfManyTermsThatFitAreOfConstants) {
  constexpr std::string_view kText =
      "input %x: u8[1x130x7x7x7] = noise(0, 255)\nconst %w: i8[3x130x7x7x6] = noise({})\n"
      "const %z: u8[] = 7\n%y = ConvInteger(%x, %w, %z)\noutput %y\n";
  CheckKernel(kCpuQuantisedGemm, fmt::format(fmt::runtime(kText), "-100, 100"), {});
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const CaseGroup large = ParseGroup(fmt::format(fmt::runtime(kText), "-128, -127"));
  EXPECT_FALSE(CandidatesOf(kCpuQuantisedGemm, *large.graph, device).ok());
}

TEST(QuantisedWindows, CopiesMuchLargerThanTheInputAreRefused) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const CaseGroup far = ParseGroup(
      "input %x: u8[1x1x9x9]\ninput %w: u8[1x1x1x1]\n"
      "%y = ConvInteger(%x, %w) {strides=[500000,500000], pads=[500000,500000,500000,500000]}\n"
      "output %y\n");
  EXPECT_FALSE(CandidatesOf(kCpuQuantisedInteger, *far.graph, device).ok());
}

}  // namespace
}  // namespace fettle::kernels
