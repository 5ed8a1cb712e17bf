// Kernels that compute between bytes what the graph says of floats: exactly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

#include "kernels/cpu/quantised/fused_sum.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised_elementwise/fused_product.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuPoolWindow;
extern const KernelDesc kCpuQuantisedChannels;
extern const KernelDesc kCpuQuantisedGemm;
extern const KernelDesc kCpuQuantisedPair;
extern const KernelDesc kCpuShuffleInterleave;
extern const KernelDesc kCpuTableLookupMap;

namespace {

constexpr Tolerance kExact = {.atol = 0, .rtol = 0};

void CheckOnEveryTarget(const KernelDesc& kernel, const std::string& text,
                        const Tolerance& tolerance = kExact) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(fmt::format("{}\n{}", target, text));
    CheckKernel(kernel, text, tolerance);
    ForceSimdTarget("");
  }
}

TEST(QuantisedBytes, TablesOfEverySize) {
  for (const int size : {1, 15, 16, 63, 64, 65, 200, 70000}) {
    for (const std::string_view type : {"u8", "i8"}) {
      CheckOnEveryTarget(kCpuTableLookupMap,
                         fmt::format("input %x: {0}[{1}] = noise({2})\nconst %t: i8[256] = "
                                     "noise(-128, 127)\n%y = TableLookup(%x, %t)\noutput %y\n",
                                     type, size, type == "u8" ? "0, 255" : "-128, 127"));
    }
  }
}

TEST(QuantisedBytes, TablesOfJoinedOperands) {
  for (const int axis : {0, 1, 3}) {
    std::string shapes[3];
    for (int i = 0; i < 3; ++i) {
      const int extent[] = {2, 32, 5, 7};
      for (int a = 0; a < 4; ++a)
        shapes[i] += fmt::format("{}{}", a == 0 ? "" : "x", a == axis ? 16 + i : extent[a]);
    }
    CheckOnEveryTarget(
        kCpuTableLookupMap,
        fmt::format("input %a: u8[{}] = noise(0, 255)\ninput %b: u8[{}] = noise(0, 255)\n"
                    "input %c: i8[{}] = noise(-128, 127)\nconst %t: u8[256] = noise(0, 255)\n"
                    "%p = TableLookup(%a, %t)\n%q = TableLookup(%c, %t)\n"
                    "%y = Concat(%p, %b, %q) {{axis={}}}\noutput %y\n",
                    shapes[0], shapes[1], shapes[2], axis));
  }
}

TEST(QuantisedBytes, HalvesInTurns) {
  for (const int half : {1, 3, 16, 58, 129}) {
    for (const std::string_view type : {"u8", "f16", "f32"}) {
      const std::string head =
          fmt::format("input %a: {0}[2x{1}x5x7]\ninput %b: {0}[2x{1}x5x7]\n", type, half);
      CheckOnEveryTarget(kCpuShuffleInterleave,
                         head +
                             "%c = Concat(%a, %b) {axis=1}\n%y = ChannelShuffle(%c) "
                             "{groups=2}\noutput %y\n");
      CheckOnEveryTarget(
          kCpuShuffleInterleave,
          fmt::format("input %x: {}[2x{}x5x7]\n%y = ChannelShuffle(%x) {{groups=2}}\n"
                      "output %y\n",
                      type, 2 * half));
    }
    CheckOnEveryTarget(
        kCpuShuffleInterleave,
        fmt::format("input %a: u8[2x{0}x5x7]\ninput %b: i8[2x{0}x5x7]\nconst %t: u8[256] = "
                    "noise(0, 255)\n%q = TableLookup(%b, %t)\n%c = Concat(%a, %q) {{axis=1}}\n"
                    "%y = ChannelShuffle(%c) {{groups=2}}\noutput %y\n",
                    half));
  }
}

/// Two operands between bytes; one may be broadcast.
std::string Pair(std::string_view op, std::string_view b_shape, bool is_signed, float scale,
                 std::string_view a_shape = "2x37x9x11") {
  const std::string_view type = is_signed ? "i8" : "u8";
  const std::string_view range = is_signed ? "-128, 127" : "0, 255";
  return fmt::format(
      "input %a: {0}[{5}] = noise({1})\ninput %b: {0}[{2}] = noise({1})\n"
      "const %s: f32[] = 0.0173\nconst %z: {0}[] = 11\nconst %t: f32[] = 0.0311\n"
      "const %v: {0}[] = 101\nconst %u: f32[] = {3}\n%x = DequantizeLinear(%a, %s, %z)\n"
      "%w = DequantizeLinear(%b, %t, %v)\n%r = {4}(%x, %w)\n%y = QuantizeLinear(%r, %u, %z)\n"
      "output %y\n",
      type, range, b_shape, scale, op, a_shape);
}

TEST(QuantisedBytes, PairsOfPixelsAndFewChannels) {
  for (const int channels : {2, 4, 16, 17}) {
    const std::string full = fmt::format("2x{}x19x31", channels);
    for (const std::string_view one : {"2x1x19x31", "1x1x19x31", "1x1x1x31"}) {
      CheckOnEveryTarget(kCpuQuantisedPair, Pair("Sub", one, false, 0.05F, full));
      CheckOnEveryTarget(kCpuQuantisedPair, Pair("Sub", full, true, 0.05F, one));
    }
  }
}

TEST(QuantisedBytes, PairsOfOnePixelForMany) {
  for (const int channels : {16, 24, 130, 512, 513}) {
    const std::string full = fmt::format("2x{}x9x11", channels);
    for (const std::string_view one : {"2x{}x1x1", "1x{}x1x1", "1x{}x9x1"}) {
      const std::string gate = fmt::format(fmt::runtime(one), channels);
      CheckOnEveryTarget(kCpuQuantisedPair, Pair("Mul", gate, false, 0.05F, full));
      CheckOnEveryTarget(kCpuQuantisedPair, Pair("Sub", full, true, 0.05F, gate));
    }
  }
}

TEST(QuantisedBytes, PairsAreTheGraphsOwnArithmetic) {
  for (const std::string_view op : {"Add", "Sub", "Mul"}) {
    for (const float scale : {0.05F, 0.0173F, 0.03125F}) {
      CheckOnEveryTarget(kCpuQuantisedPair, Pair(op, "2x37x9x11", false, scale));
      CheckOnEveryTarget(kCpuQuantisedPair, Pair(op, "2x37x9x11", true, scale));
    }
    for (const std::string_view shape : {"2x37x1x1", "1x37x1x1", "2x1x9x11", "1x1x1x1"})
      CheckOnEveryTarget(kCpuQuantisedPair, Pair(op, shape, false, 0.05F));
  }
}

#if defined(__x86_64__)
TEST(QuantisedBytes, FusedProductsAreThoseOfTheGraph) {
  if (!RunsAvx2()) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(7);
  const auto any = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto type = [&](float scale) {
    return UnsignedBytes(any(0, 1) == 0 ? DType::kU8 : DType::kI8, scale,
                         static_cast<float>(any(0, 1) * any(0, 127)));
  };
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    const float scale = static_cast<float>(any(1, 1000)) * 1e-4F;
    PairRowArgs row{.a_type = type(scale),
                    .b_type = type(static_cast<float>(any(1, 1000)) * 1e-3F),
                    .y_type = type(static_cast<float>(any(1, 1000)) * 1e-4F)};
    row.low = static_cast<float>(any(0, 100));
    row.factor = FindProductFactor(row);
    if (row.factor == 0) continue;
    ++found;
    row.n = any(1, 100);
    std::vector<uint8_t> a(row.n), b(row.n), expected(row.n), y(row.n + 1, 77);
    for (uint8_t& x : a) x = static_cast<uint8_t>(any(0, 255));
    for (uint8_t& x : b) x = static_cast<uint8_t>(any(0, 255));
    row.a = a.data();
    row.b = b.data();
    row.y = expected.data();
    FindPairRow(PairOp::kMul)(row);
    row.y = y.data();
    RunProductRowAvx2(row);
    EXPECT_EQ(y.back(), 77);
    y.pop_back();
    EXPECT_EQ(y, expected) << round;
  }
  EXPECT_GT(found, 30);
  PairRowArgs steep;  // steps leave 22 bits
  steep.a_type.scale = steep.b_type.scale = 1e4F;
  EXPECT_EQ(FindProductFactor(steep), 0);
}

TEST(QuantisedBytes, SumsOfWholeVectorsAreThoseOfTheGraph) {
  if (!RunsAvx2()) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(8);
  const auto any = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto type = [&]() {
    return UnsignedBytes(any(0, 1) == 0 ? DType::kU8 : DType::kI8,
                         static_cast<float>(any(1, 1000)) * 1e-3F,
                         static_cast<float>(any(0, 1) * any(0, 127)));
  };
  std::vector<uint8_t> a(65536), b(65536);
  for (int i = 0; i < 65536; ++i) {
    a[i] = static_cast<uint8_t>(i / 256);
    b[i] = static_cast<uint8_t>(i % 256);
  }
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    const PairOp op = round % 2 == 0 ? PairOp::kAdd : PairOp::kSub;
    PairRowArgs row{.a_type = type(), .b_type = type(), .y_type = type()};
    row.low = static_cast<float>(any(0, 100));
    row.high = static_cast<float>(any(150, 255));
    PairRowArgs sum = row;
    if (op == PairOp::kSub) sum.b_type.scale = -sum.b_type.scale;
    const std::optional<FusedSum> fused = FindFusedSum(sum);
    EXPECT_EQ(FindRowOfBoth(op, row), FindPairRow(op));
    if (!fused) continue;
    row.fused = *fused;
    EXPECT_EQ(FindRowOfBoth(op, row), RunSumRow);
    ++found;
    row.n = round < 20 ? 65536 : any(1, 100);
    const int64_t first = 65536 - row.n;
    std::vector<uint8_t> expected(row.n), y(row.n + 1, 77);
    row.a = a.data() + first;
    row.b = b.data() + first;
    row.y = expected.data();
    FindPairRow(op)(row);
    row.y = y.data();
    RunSumRow(row);
    EXPECT_EQ(y.back(), 77);
    y.pop_back();
    EXPECT_EQ(y, expected) << round;
  }
  EXPECT_GT(found, 30);
}
#endif

TEST(QuantisedBytes, ChannelsHaveConstantsOfTheirOwn) {
  for (const std::string_view type : {"u8", "i8"}) {
    CheckOnEveryTarget(
        kCpuQuantisedChannels,
        fmt::format("input %q: {0}[2x37x9x11] = noise({1})\nconst %s: f32[] = 0.02\n"
                    "const %z: {0}[] = 5\nconst %t: f32[] = 0.013\nconst %g: f32[37]\n"
                    "const %b: f32[37]\nconst %m: f32[37]\nconst %v: f32[37] = noise(0.5, 2)\n"
                    "%x = DequantizeLinear(%q, %s, %z)\n%n = BatchNormalization(%x, %g, %b, %m, "
                    "%v)\n%y = QuantizeLinear(%n, %t, %z)\noutput %y\n",
                    type, type == "u8" ? "0, 255" : "-128, 127"),
        {.atol = 1, .rtol = 0});
  }
}

TEST(QuantisedBytes, MaximaOfAnyNumberOfChannels) {
  for (const int channels : {1, 8, 9, 16, 24, 63, 64, 129, 200}) {
    for (const std::string_view type : {"u8", "i8"}) {
      const int kernel = 2 + channels % 4;
      CheckOnEveryTarget(
          kCpuPoolWindow,
          fmt::format("input %x: {}[2x{}x9x7] = noise({})\n%y = MaxPool(%x) {{kernel_shape=[3,{}], "
                      "strides=[2,2], pads=[1,1,1,1]}}\noutput %y\n",
                      type, channels, type == "u8" ? "0, 255" : "-128, 127", kernel));
    }
  }
}

TEST(Quantised, DequantizersMayComeInAnyOrder) {
  // The group's first node has the rank of the bias.
  CheckKernel(kCpuQuantisedGemm,
              "input %q: u8[1x5x6x7] = noise(0, 255)\nconst %sx: f32[] = 0.02\n"
              "const %w: i8[9x5x3x3] = noise(-127, 127)\nconst %sw: f32[] = 0.01\n"
              "const %b: i32[9] = noise(-900, 900)\nconst %sb: f32[] = 0.0002\n"
              "const %sy: f32[] = 0.05\n%g = DequantizeLinear(%b, %sb)\n"
              "%f = DequantizeLinear(%w, %sw)\n%x = DequantizeLinear(%q, %sx)\n"
              "%c = Conv(%x, %f, %g)\n%y = QuantizeLinear(%c, %sy)\noutput %y\n",
              {.atol = 1, .rtol = 0});
}

}  // namespace
}  // namespace fettle::kernels
