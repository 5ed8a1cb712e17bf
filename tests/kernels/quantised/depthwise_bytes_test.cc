#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/cpu/depthwise/row.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

/// A row from bytes to bytes of any kernel width, padding and number of lines, its memory, and what
/// comes out.
class ByteRow {
 public:
  explicit ByteRow(uint32_t seed) : rng_(seed) {
    row_.form = DepthwiseForm::kBytes;
    row_.kernel_width = Any(0, 1) == 0 ? 3 : 5;
    row_.stride = Any(1, 2);
    row_.pad = Any(0, static_cast<int>(row_.kernel_width) - 1);
    row_.num_lines = Any(0, static_cast<int>(row_.kernel_width));
    row_.channels = row_.in_pixel = row_.out_pixel = Any(1, 70);
    row_.padded_channels = (row_.channels + kDepthwisePad - 1) / kDepthwisePad * kDepthwisePad;
    row_.in_width = Any(5, 20);
    row_.out_width = (row_.in_width + 2 * row_.pad - row_.kernel_width) / row_.stride + 1;
    FillBytes();
    FillFloats();
  }

  std::vector<uint8_t> Run() {
    std::vector<uint8_t> y(row_.out_width * row_.channels);
    row_.out = reinterpret_cast<std::byte*>(y.data());
    RunDepthwiseRow(row_);
    return y;
  }

  /// This row, one without its first line, as above a border of the input, and this one again.
  std::vector<uint8_t> RunTogether() {
    std::vector<uint8_t> y(3 * row_.out_width * row_.channels);
    DepthwiseRow rows[3] = {row_, row_, row_};
    if (row_.num_lines > 0) {
      --rows[1].num_lines;
      ++rows[1].lines;
      rows[1].weights += row_.kernel_width * row_.padded_channels;
    }
    for (int i = 0; i < 3; ++i)
      rows[i].out = reinterpret_cast<std::byte*>(y.data() + i * row_.out_width * row_.channels);
    RunDepthwiseRows(rows);
    return y;
  }

  std::vector<uint8_t> Expected(int64_t first_line = 0) const {
    std::vector<uint8_t> y;
    for (int64_t ow = 0; ow < row_.out_width; ++ow) {
      for (int64_t c = 0; c < row_.channels; ++c) {
        const float sum = static_cast<float>(Sum(ow, c, first_line)) + bias_[c];
        const float x = std::min(row_.high, std::max(row_.low, sum * scale_[c]));
        const int step = static_cast<int>(std::nearbyint(x)) + row_.out_zero;
        y.push_back(static_cast<uint8_t>(step ^ row_.out_flip));
      }
    }
    return y;
  }

 private:
  int Any(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }
  /// Bounds are as frequent as all between them.
  int AnyOrBound(int low, int high) {
    return Any(0, 1) == 0 ? Any(low, high) : (Any(0, 1) == 0 ? low : high);
  }

  void FillBytes() {
    constexpr int64_t kBehind = 64;  // readable
    row_.in_flip = Any(0, 1) == 0 ? 0 : 0x80;
    row_.out_flip = Any(0, 1) == 0 ? 0 : 0x80;
    row_.in_zero = AnyOrBound(0, 255);
    row_.out_zero = AnyOrBound(0, 255);
    x_.resize(row_.num_lines * row_.in_width * row_.channels + kBehind);
    for (uint8_t& x : x_) x = static_cast<uint8_t>(AnyOrBound(0, 255));
    zeros_.assign(row_.padded_channels + kBehind,
                  static_cast<uint8_t>(row_.in_zero ^ row_.in_flip));
    const auto* from = reinterpret_cast<const std::byte*>(x_.data());
    for (int64_t line = 0; line < row_.num_lines; ++line)
      lines_.push_back(from + line * row_.in_width * row_.channels);
    row_.lines = lines_.data();
    row_.zeros = reinterpret_cast<const std::byte*>(zeros_.data());
  }

  void FillFloats() {
    weights_.resize(std::max<int64_t>(row_.num_lines, 1) * row_.kernel_width *
                    row_.padded_channels);
    for (float& w : weights_) w = static_cast<float>(AnyOrBound(-255, 255));
    for (int64_t c = 0; c < row_.padded_channels; ++c) {
      bias_.push_back(static_cast<float>(Any(-10000, 10000)));
      // Some results are beyond what an integer holds.
      scale_.push_back(Any(0, 9) == 0 ? 1e30F : static_cast<float>(Any(1, 1000)) * 1e-6F);
    }
    row_.weights = weights_.data();
    row_.bias = bias_.data();
    row_.scale = scale_.data();
    row_.low = static_cast<float>(-row_.out_zero);
    row_.high = static_cast<float>(255 - row_.out_zero);
  }

  int64_t Sum(int64_t ow, int64_t c, int64_t first_line) const {
    int64_t sum = 0;
    for (int64_t line = first_line; line < row_.num_lines; ++line) {
      for (int64_t t = 0; t < row_.kernel_width; ++t) {
        const int64_t iw = ow * row_.stride + t - row_.pad;
        if (iw < 0 || iw >= row_.in_width) continue;
        const int x =
            x_[(line * row_.in_width + iw) * row_.channels + c] ^ static_cast<int>(row_.in_flip);
        const float w = weights_[(line * row_.kernel_width + t) * row_.padded_channels + c];
        sum += int64_t{x - row_.in_zero} * static_cast<int64_t>(w);
      }
    }
    return sum;
  }

  std::mt19937 rng_;
  DepthwiseRow row_;
  std::vector<uint8_t> x_, zeros_;
  std::vector<const std::byte*> lines_;
  std::vector<float> weights_, bias_, scale_;
};

TEST(DepthwiseBytes, AreTheSumsOfTheirTapsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (uint32_t seed = 0; seed < 400; ++seed) {
      ByteRow row(seed);
      const std::vector<uint8_t> whole = row.Expected(), cut = row.Expected(1);
      ASSERT_EQ(row.Run(), whole) << seed;
      std::vector<uint8_t> all = whole;
      all.insert(all.end(), cut.begin(), cut.end());
      all.insert(all.end(), whole.begin(), whole.end());
      ASSERT_EQ(row.RunTogether(), all) << seed;
    }
  }
  ForceSimdTarget("");
}

/// As RunRequantise does.
TEST(DepthwiseBytes, SumsOfZeroByScalesThatOverflowAreTheLeastValue) {
  constexpr int64_t kChannels = 19, kPadded = 2 * kDepthwisePad;
  const std::vector<float> bias(kPadded), scale(kPadded, std::numeric_limits<float>::infinity());
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    std::vector<uint8_t> y(kChannels, 77);
    DepthwiseRow row;
    row.form = DepthwiseForm::kBytes;
    row.out_zero = 100;
    row.bias = bias.data();
    row.weights = bias.data();
    row.scale = scale.data();
    row.channels = kChannels;
    row.padded_channels = kPadded;
    row.out_width = 1;
    row.out = reinterpret_cast<std::byte*>(y.data());
    row.low = -90;
    row.high = 50;
    RunDepthwiseTaps(row, nullptr);
    EXPECT_EQ(y, std::vector<uint8_t>(kChannels, 10)) << target;
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
