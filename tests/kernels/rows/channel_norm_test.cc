// Rows without variance, far from zero: what is left of them is the bias, to the last bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/norm/rows.h"
#include "kernels/cpu/simd/targets.h"
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

/// Rows that are read once, in parts: their means and variances differ, and the mean is far from 0.
TEST(ChannelNorm, LongRowsKeepTheirDigits) {
  for (std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (std::string_view noise : {"noise(-1, 1)", "noise(1000, 1001)", "noise(-3, 50)"}) {
      CheckKernel(kCpuNormChannel,
                  fmt::format("input %x: f32[1x2x16389] = {}\nconst %s: f32[2] = noise(1, 3)\n"
                              "const %b: f32[2] = noise(-1, 1)\n%y = InstanceNormalization(%x, %s, "
                              "%b)\noutput %y\n",
                              noise),
                  {.atol = 1e-3, .rtol = 1e-4});
    }
    std::vector<float> x(40000);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = 100.0F + static_cast<float>(i / 4096) + static_cast<float>(i % 7);
    double mean = 0, squares = 0;
    for (float v : x) mean += static_cast<double>(v) / static_cast<double>(x.size());
    for (float v : x) squares += (v - mean) * (v - mean) / static_cast<double>(x.size());
    const RowStatistics of = MeasureRow(x.data(), std::ssize(x), true);
    EXPECT_NEAR(of.mean, mean, 1e-5 * mean);
    EXPECT_NEAR(of.variance, squares, 1e-5 * squares);
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
