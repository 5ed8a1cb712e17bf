// Products by pairs of steps and lists of terms: 16-bit sums at their bounds, and random cases,
// against plain sums.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/requantise.h"
#include "kernels/cpu/quantised_avx2/paired_steps.h"
#include "kernels/cpu/quantised_avx2/panel_sums.h"
#include "kernels/cpu/quantised_avx2/term_tile.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

/// What x or the weights are made of: anything, bounds alone, the highest, the lowest, small ones.
enum class Bytes { kAny, kBounds, kHighest, kLowest, kSmall };
constexpr Bytes kAllBytes[] = {Bytes::kAny, Bytes::kBounds, Bytes::kHighest, Bytes::kLowest,
                               Bytes::kSmall};

int Draw(std::mt19937& random, Bytes kind, int low, int high) {
  switch (kind) {
    case Bytes::kAny: return low + static_cast<int>(random() % (high - low + 1));
    case Bytes::kBounds: return random() % 2 == 0 ? low : high;
    case Bytes::kHighest: return high;
    case Bytes::kLowest: return low;
    default: return std::clamp(static_cast<int>(random() % 15) - 7, low, high);
  }
}

struct Case {
  int64_t pixels, channels, depth;
  bool unsigned_w, transposed;
  int w_zero;
  Bytes x, w;
  bool flips;  // x is i8
};

QuantLayout LayoutOf(const Case& c) {
  QuantLayout layout;
  layout.oc = c.channels;
  layout.ic = c.depth;
  layout.transposed = c.transposed;
  layout.unsigned_w = c.unsigned_w;
  layout.nr = kTermChannels;
  layout.terms = true;
  return layout;
}

/// `bytes` outlive it.
Constant BytesConstant(DType dtype, const std::vector<int8_t>& bytes) {
  return Constant::FromBytes(dtype, Shape{static_cast<int64_t>(bytes.size())},
                             std::as_bytes(std::span(bytes)), nullptr);
}

/// Sums of products for all channels of `c`, [pixel][channel], by tiles.
std::vector<int32_t> ByTiles(const Case& c, const QuantLayout& layout, const std::byte* blob,
                             const std::vector<uint8_t>& x) {
  std::vector<int32_t> init(layout.columns(), 11), found(c.pixels * c.channels);
  std::vector<const uint8_t*> rows;
  for (int64_t p = 0; p < c.pixels; ++p) rows.push_back(x.data() + p * c.depth);
  const int64_t tap_offset = 0;
  const int vectors = static_cast<int>(CeilDiv(c.pixels, kTermLanes));
  std::vector<uint8_t> memory(TermBlocks(layout).pairs * kPairedWeights * kTermPixels + 64);
  auto* lines = reinterpret_cast<uint8_t*>(RoundUp(reinterpret_cast<int64_t>(memory.data()), 64));
  InterleaveRows({.rows = rows.data(),
                  .count = c.pixels,
                  .tap_offsets = &tap_offset,
                  .taps = 1,
                  .depth = c.depth,
                  .flip = static_cast<uint8_t>(c.flips ? 0x80 : 0)},
                 vectors, lines);
  const TermTable table(layout, blob);
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    const int64_t first = panel * kTermChannels;
    const int64_t count = std::min<int64_t>(kTermChannels, c.channels - first);
    alignas(64) int32_t sums[kTermPixels * kTermChannels];
    RunTermTile({.x = lines,
                 .rows = c.pixels,
                 .channels = count,
                 .table = &table,
                 .panel = panel,
                 .init = init.data() + first,
                 .sums = sums});
    for (int64_t p = 0; p < c.pixels; ++p)
      std::copy_n(sums + p * kTermChannels, count, found.data() + p * c.channels + first);
  }
  return found;
}

void CheckCase(const Case& c, std::mt19937& random) {
  SCOPED_TRACE(fmt::format("{} x {} x {}, weights {}{} less {} of kind {}, x {} of kind {}",
                           c.pixels, c.channels, c.depth, c.unsigned_w ? "u8" : "i8",
                           c.transposed ? " transposed" : "", c.w_zero, static_cast<int>(c.w),
                           c.flips ? "i8" : "u8", static_cast<int>(c.x)));
  const int low = c.unsigned_w ? 0 : -128;
  std::vector<int8_t> w(c.channels * c.depth);
  for (int8_t& value : w) value = static_cast<int8_t>(Draw(random, c.w, low, low + 255));
  std::vector<uint8_t> x(c.pixels * c.depth + 4);
  for (uint8_t& value : x) value = static_cast<uint8_t>(Draw(random, c.x, 0, 255));
  const DType dtype = c.unsigned_w ? DType::kU8 : DType::kI8;
  const Constant weights = BytesConstant(dtype, w);
  const std::vector<int8_t> zeros{static_cast<int8_t>(c.w_zero)};
  const Constant zero = BytesConstant(dtype, zeros);
  const QuantConstants constants{.w = &weights, .w_zero = &zero};
  QuantLayout layout = LayoutOf(c);
  layout.term_bytes = TermBytes(layout, constants);
  std::vector<std::byte> memory(layout.bytes() + 64, std::byte{77});
  auto* blob = reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<int64_t>(memory.data()), 64));
  PackTerms(layout, constants, blob);
  const std::vector<int32_t> found = ByTiles(c, layout, blob, x);
  for (int64_t p = 0; p < c.pixels; ++p) {
    for (int64_t n = 0; n < c.channels; ++n) {
      int32_t expected = 11;
      for (int64_t k = 0; k < c.depth; ++k) {
        const int8_t byte = c.transposed ? w[k * c.channels + n] : w[n * c.depth + k];
        const int value = c.unsigned_w ? static_cast<uint8_t>(byte) : byte;
        expected += (value - c.w_zero) * (x[p * c.depth + k] ^ (c.flips ? 0x80 : 0));
      }
      ASSERT_EQ(found[p * c.channels + n], expected) << "pixel " << p << ", channel " << n;
    }
  }
}

bool HasTerms() { return RunsAvx2(); }

TEST(QuantisedTerms, SumsOfAllBoundsAreExact) {
  if (!HasTerms()) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(3);
  for (const int64_t depth : {1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 771, 1553}) {
    for (const Bytes w : kAllBytes) {
      for (const Bytes x : {Bytes::kHighest, Bytes::kLowest, Bytes::kBounds}) {
        CheckCase({9, 17, depth, false, false, 0, x, w, false}, random);
        for (const int zero : {0, 128, 255})
          CheckCase({3, 1, depth, true, true, zero, x, w, true}, random);
        for (const int zero : {-128, 127})
          CheckCase({32, 2, depth, false, true, zero, x, w, false}, random);
      }
    }
  }
}

TEST(QuantisedTerms, RandomCasesAreExact) {
  if (!HasTerms()) GTEST_SKIP() << "no AVX2";
  constexpr int kCases = 2000;
  std::mt19937 random(8);
  const auto draw = [&](int most) { return 1 + static_cast<int64_t>(random() % most); };
  for (int i = 0; i < kCases && !testing::Test::HasFailure(); ++i) {
    Case c{draw(kTermPixels), draw(20), draw(70)};
    c.unsigned_w = random() % 2 == 0;
    c.transposed = random() % 2 == 0;
    c.flips = random() % 2 == 0;
    c.x = kAllBytes[random() % std::size(kAllBytes)];
    c.w = kAllBytes[random() % std::size(kAllBytes)];
    const int zeros[] = {0, Draw(random, Bytes::kAny, 0, 127), c.unsigned_w ? 255 : -128};
    c.w_zero = zeros[random() % 3];
    CheckCase(c, random);
  }
}

/// No order of the terms of a sum may overflow: the bound holds for each part.
TEST(QuantisedTerms, NoTermIsHeavierThanItsSumMayBe) {
  for (int a = -255; a <= 255; a += 3) {
    for (int b = -255; b <= 255; ++b) {
      const int16_t weights[] = {static_cast<int16_t>(a), static_cast<int16_t>(b),
                                 static_cast<int16_t>(-b), static_cast<int16_t>(a)};
      std::vector<Term> terms;
      AppendTerms(weights, 0, terms);
      int sums[4] = {};
      for (const Term& term : terms) {
        int positive[2] = {}, negative[2] = {};
        for (int i = 0; i < 4; ++i) {
          const auto w = static_cast<int8_t>(term.weights >> (8 * i));
          sums[i] += w;
          (w > 0 ? positive : negative)[i / 2] += w;
        }
        for (int lane : {0, 1}) ASSERT_TRUE(positive[lane] <= 128 && negative[lane] >= -128);
      }
      ASSERT_TRUE(std::equal(sums, sums + 4, weights)) << a << " and " << b;
      ASSERT_LE(terms.size(), 4U);
    }
  }
}

/// What vpmaddubsw multiplies by pairs of steps cannot saturate, and with the rest it is all there.
TEST(QuantisedTerms, PairedStepsKeepWithinSixteenBits) {
  std::mt19937 random(4);
  for (int round = 0; round < 100'000; ++round) {
    int16_t weights[kPairedWeights], rest[kPairedWeights];
    const Bytes kind = kAllBytes[round % std::size(kAllBytes)];
    const int most = round % 3 == 0 ? 255 : 128;
    for (int16_t& w : weights) w = static_cast<int16_t>(Draw(random, kind, -most, most));
    std::copy_n(weights, kPairedWeights, rest);
    int8_t bytes[kPairedWeights];
    SplitPairedSteps(rest, bytes);
    int positive[2] = {}, negative[2] = {};
    for (int i = 0; i < kPairedWeights; ++i) {
      ASSERT_EQ(bytes[i] + rest[i], weights[i]);
      (bytes[i] > 0 ? positive : negative)[i / 2 % 2] += bytes[i];
    }
    for (int lane : {0, 1}) ASSERT_TRUE(positive[lane] <= 128 && negative[lane] >= -128);
  }
}

/// One step has the rest where it alone can: each step that has one is a term of a list.
TEST(QuantisedTerms, OneOfTwoStepsHasTheRestWhereItCan) {
  int16_t weights[] = {60, 60, -90, -50, 10, 0, 5, -40};
  int8_t bytes[kPairedWeights];
  SplitPairedSteps(weights, bytes);
  EXPECT_EQ(std::count(weights, weights + 4, 0), 2);  // 2 of the first sum, 52 of the second
  EXPECT_EQ(std::count(weights + 4, weights + 8, 0), 4);
}

/// Of ONNX's operators NaN becomes the least value.
TEST(QuantisedTerms, SumsOfZeroByScalesThatOverflowAreTheLeastValue) {
  const std::vector<int32_t> sums(64), w_zero(64);
  const std::vector<float> scale(64, std::numeric_limits<float>::infinity()), add(64);
  std::vector<uint8_t> bytes(17, 9);
  RequantiseArgs args;
  args.sums = sums.data();
  args.sums_stride = 32;
  args.rows = 1;
  args.columns = std::ssize(bytes);
  args.w_zero = w_zero.data();
  args.scale = scale.data();
  args.add = add.data();
  args.zero = 100;
  args.bytes = bytes.data();
  RunRequantise(args);
  EXPECT_EQ(bytes, std::vector<uint8_t>(17, 0));
}

/// Sums to bytes, with another tensor's or without, as the kernels of every instruction set do it.
TEST(QuantisedTerms, BytesOfSumsAreThoseOfPlainVectors) {
  if (!HasTerms()) GTEST_SKIP() << "no AVX2";
#if defined(__x86_64__)
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    const int64_t rows = 1 + random() % 7, columns = 1 + random() % 40, stride = columns + 3;
    std::vector<int32_t> sums(rows * 64), init(64), row_sums(rows), w_zero(64);
    std::vector<float> scale(64), add(64);
    for (int32_t& x : sums) x = static_cast<int32_t>(random() % 400'001) - 200'000;
    for (int32_t& x : init) x = static_cast<int32_t>(random() % 2001) - 1000;
    for (int32_t& x : row_sums) x = static_cast<int32_t>(random() % 999);
    for (int32_t& x : w_zero) x = static_cast<int32_t>(random() % 256) - 128;
    for (float& x : scale) x = 1e-5F * static_cast<float>(random() % 997);
    for (float& x : add) x = static_cast<float>(random() % 801) / 16 - 25;
    std::vector<uint8_t> shortcut(rows * stride);
    for (uint8_t& x : shortcut) x = static_cast<uint8_t>(random());
    RequantiseArgs args{.sums = sums.data(), .sums_stride = 64, .rows = rows, .columns = columns};
    args.init = round % 2 == 0 ? init.data() : nullptr;
    args.row_sums = round % 3 == 0 ? row_sums.data() : nullptr;
    args.w_zero = w_zero.data();
    args.scale = scale.data();
    args.add = add.data();
    args.is_signed = round % 4 < 2;
    args.zero = args.is_signed ? -7 : 99;
    args.low = args.is_signed ? (round % 5 == 0 ? -7 : -128) : (round % 5 == 0 ? 99 : 0);
    args.high = args.is_signed ? 127 : 255;
    args.out_stride = stride;
    PairRowArgs types;
    types.a_type = {.flip = static_cast<uint8_t>(args.is_signed ? 0x80 : 0),
                    .zero = static_cast<float>(args.zero + (args.is_signed ? 128 : 0)),
                    .scale = 0.013F};
    types.b_type = {
        .flip = static_cast<uint8_t>(round % 2 == 0 ? 0x80 : 0), .zero = 101, .scale = 0.021F};
    types.y_type = {.flip = types.a_type.flip,
                    .zero = 120,
                    .scale = 0.027F + 0.001F * static_cast<float>(round % 9)};
    types.low = round % 7 == 0 ? 120 : 0;
    const auto fused = FindFusedSum(types);
    std::vector<uint8_t> expected(rows * stride, 77), found = expected;
    const auto check = [&](Requantise plain, Requantise quick) {
      args.bytes = expected.data();
      plain(args);
      args.bytes = found.data();
      quick(args);
      ASSERT_EQ(found, expected) << round << ": " << rows << " x " << columns;
    };
    check(RunRequantise, RequantiseBytesAvx2);
    args.sum = &types;
    args.shortcut = shortcut.data();
    check(RunSum, RunSumAvx2);
    if (!fused) continue;
    args.fused = &*fused;
    check(RunSum, RunSumAvx2);
  }
#endif
}

}  // namespace
}  // namespace fettle::kernels
