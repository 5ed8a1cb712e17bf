// Rows without variance, far from zero: what is left of them is the bias, to the last bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/norm/rows.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuNormChannel;

namespace {

constexpr float kMean = 1234.567f, kFactor = 316.2f, kBias = 0.1f;

TEST(ChannelNorm, RowsWithoutVarianceBecomeTheBias) {
  for (int64_t n : {1, 7, 64, 67}) {
    const auto count = static_cast<size_t>(n);
    std::vector<float> y(count);
    const std::vector<float> x(count, kMean), expected(count, kBias);
    ScaleShiftRow(x.data(), y.data(), n, kMean, kFactor, kBias);
    EXPECT_EQ(y, expected);
  }
}

TEST(ChannelNorm, ColumnsWithoutVarianceBecomeTheBias) {
  for (int64_t columns : {1, 7, 64, 67}) {
    const auto count = static_cast<size_t>(columns);
    std::vector<float> y(2 * count);
    const std::vector<float> x(2 * count, kMean), expected(2 * count, kBias), mean(count, kMean),
        factor(count, kFactor), bias(count, kBias);
    ScaleShiftColumns(x.data(), y.data(), 2, columns, mean.data(), factor.data(), bias.data());
    EXPECT_EQ(y, expected);
  }
}

TEST(ChannelNorm, OnePixelOfAnInstanceIsTheBias) {
  for (std::string_view shape : {"2x5x1", "1x67x1x1"}) {
    const std::string_view channels = shape == "2x5x1" ? "5" : "67";
    const std::string text = fmt::format(
        "input %x: f32[{}] = noise(1000, 2000)\nconst %s: f32[{}] = noise(1, 3)\n"
        "const %b: f32[{}] = noise(-1, 1)\n%y = InstanceNormalization(%x, %s, %b)\noutput %y\n",
        shape, channels, channels);
    SCOPED_TRACE(text);
    CheckKernel(kCpuNormChannel, text, {.atol = 0, .rtol = 0});
  }
}

}  // namespace
}  // namespace fettle::kernels
