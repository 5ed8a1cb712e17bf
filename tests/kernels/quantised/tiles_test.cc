// Micro-kernels of products of bytes: tiles that store their bytes themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {
namespace {

/// A tile of random operands with constants for its columns.
struct RandomTile {
  static constexpr int64_t kSteps = 5;
  std::vector<std::byte> a, b;
  std::vector<const std::byte*> rows;
  std::vector<int32_t> init;
  std::vector<float> scale, add;

  RandomTile(int64_t count, int64_t columns)
      : a(count * kSteps * 4),
        b(kSteps * columns * 4),
        init(columns),
        scale(columns),
        add(columns) {
    std::mt19937 random(7);
    for (std::byte& x : a) x = static_cast<std::byte>(random());
    for (std::byte& x : b) x = static_cast<std::byte>(random());
    for (int32_t& x : init) x = static_cast<int32_t>(random() % 20001) - 10000;
    // Some results are far out of range.
    for (float& x : scale) x = 1e-4F * static_cast<float>(random() % 97);
    for (float& x : add) x = static_cast<float>(random() % 801) / 16 - 25;
    for (int64_t r = 0; r < count; ++r) rows.push_back(a.data() + r * kSteps * 4);
  }

  QuantTileArgs Args(int32_t* sums) const {
    QuantTileArgs args;
    args.a = rows.data();
    args.steps = kSteps;
    args.b = b.data();
    args.init = init.data();
    args.c = sums;
    return args;
  }
};

struct ByteRange {
  bool is_signed;
  int32_t zero, low, high;
};

void CheckTile(const QuantKernels& kernels, int rows, int64_t columns, const ByteRange& range) {
  SCOPED_TRACE(fmt::format("{} rows of {} columns of {}, {}{} in [{}, {}]", rows, columns,
                           kernels.name, range.is_signed ? "i8 " : "u8 ", range.zero, range.low,
                           range.high));
  const RandomTile tile(rows, kernels.nr);
  alignas(64) int32_t sums[kMaxQuantSums];
  QuantTileArgs args = tile.Args(sums);
  kernels.tile[rows](args);
  RequantiseArgs results;
  results.sums = sums;
  results.sums_stride = kernels.nr;
  results.rows = rows;
  results.columns = columns;
  results.w_zero = tile.init.data();  // read, not used
  results.scale = tile.scale.data();
  results.add = tile.add.data();
  results.is_signed = range.is_signed;
  results.zero = range.zero;
  results.low = range.low;
  results.high = range.high;
  results.out_stride = columns + 3;
  std::vector<uint8_t> expected(rows * results.out_stride, 77), bytes = expected;
  results.bytes = expected.data();
  RunRequantise(results);
  results.bytes = bytes.data();
  args.results = &results;
  kernels.tile[rows](args);
  EXPECT_EQ(bytes, expected);
}

void CheckTiles(const QuantKernels& kernels) {
  static constexpr ByteRange kRanges[] = {
      {false, 0, 0, 255}, {false, 113, 113, 200}, {true, 0, -128, 127}, {true, -11, -11, 90}};
  ASSERT_TRUE(kernels.finishes);
  const int columns = kernels.nr;
  for (int rows = 1; rows <= kernels.mr; ++rows) {
    for (const ByteRange& range : kRanges) {
      for (const int64_t count : {columns, columns - 1, std::max(columns - 15, 1)})
        CheckTile(kernels, rows, count, range);
    }
  }
}

/// Tiles below each other are those of one after the other.
void CheckRepeated(const QuantKernels& kernels, int rows, bool bytes) {
  SCOPED_TRACE(fmt::format("{} rows of {}, {}", rows, kernels.name, bytes ? "bytes" : "sums"));
  constexpr int64_t kRepeat = 3;
  const RandomTile tile(rows * kRepeat, kernels.nr);
  const int64_t tile_sums = int64_t{rows} * kernels.nr;
  alignas(64) int32_t expected[kRepeat * kMaxQuantSums] = {}, sums[kRepeat * kMaxQuantSums] = {};
  std::vector<uint8_t> expected_bytes(rows * kRepeat * 19, 77), all_bytes = expected_bytes;
  RequantiseArgs results;
  results.columns = std::min(kernels.nr, 16);
  results.scale = tile.scale.data();
  results.add = tile.add.data();
  results.out_stride = 19;
  QuantTileArgs args = tile.Args(expected);
  if (bytes) args.results = &results;
  results.bytes = expected_bytes.data();
  for (int64_t i = 0; i < kRepeat; ++i) {
    kernels.tile[rows](args);
    args.a += rows;
    args.c += tile_sums;
    results.bytes += rows * results.out_stride;
  }
  args.a = tile.rows.data();
  args.c = sums;
  args.repeat = kRepeat;
  args.a_step = RandomTile::kSteps * 4;
  args.next_b = args.b;  // what is fetched ahead changes nothing
  args.next_step = 7;
  results.bytes = all_bytes.data();
  kernels.tile[rows](args);
  EXPECT_TRUE(std::equal(sums, std::end(sums), expected));
  EXPECT_EQ(all_bytes, expected_bytes);
}

/// Tiles store floats of two rounded operations where sums would lie `stride` apart.
void CheckScaled(const QuantKernels& kernels, int rows) {
  SCOPED_TRACE(fmt::format("{} rows of {}", rows, kernels.name));
  const RandomTile tile(rows, kernels.nr);
  alignas(64) int32_t sums[kMaxQuantSums];
  QuantTileArgs args = tile.Args(sums);
  kernels.tile[rows](args);
  const int64_t stride = kernels.nr + 5;
  std::vector<float> stored(rows * stride, -1.0F);
  args.c = reinterpret_cast<int32_t*>(stored.data());
  args.c_stride = stride;
  args.scale = tile.scale.data();
  args.add = tile.add.data();
  kernels.tile[rows](args);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t n = 0; n < stride; ++n) {
      const bool is_column = n < kernels.nr;
      volatile float product = is_column ? static_cast<float>(sums[r * kernels.nr + n]) : 0.0F;
      if (is_column) product = product * tile.scale[n];
      EXPECT_EQ(stored[r * stride + n], is_column ? product + tile.add[n] : -1.0F) << r << ' ' << n;
    }
  }
}

TEST(QuantisedTiles, ScaleSumsInVectorsOf256Bits) {
  if (!RunsAvx2() || QuantKernelsAvx2(16) == nullptr) GTEST_SKIP() << "no AVX2";
  for (const int64_t columns : {8, 16}) {
    const QuantKernels& kernels = *QuantKernelsAvx2(columns);
    ASSERT_TRUE(kernels.scales);
    for (int rows = 1; rows <= kernels.mr; ++rows) CheckScaled(kernels, rows);
  }
}

TEST(QuantisedTiles, RepeatInVectorsOf256Bits) {
  if (!RunsAvx2() || QuantKernelsAvx2(16) == nullptr) GTEST_SKIP() << "no AVX2";
  for (const int64_t columns : {8, 16}) {
    const QuantKernels& kernels = *QuantKernelsAvx2(columns);
    ASSERT_TRUE(kernels.repeats);
    ASSERT_EQ(kernels.nr, columns);
    for (int rows = 1; rows <= kernels.mr; ++rows) {
      for (const bool bytes : {false, true}) CheckRepeated(kernels, rows, bytes);
    }
  }
}

/// Bytes of B that become words are those words.
TEST(QuantisedTiles, NarrowOnesGiveTheSumsOfWords) {
  if (!RunsAvx2() || NarrowKernelsAvx2(16) == nullptr) GTEST_SKIP() << "no AVX2";
  const QuantKernels& narrow = *NarrowKernelsAvx2(16);
  const QuantKernels& wide = *QuantKernelsAvx2(16);
  ASSERT_TRUE(narrow.narrow && narrow.wide && narrow.repeats && narrow.finishes);
  ASSERT_LE(narrow.mr, wide.mr);
  EXPECT_EQ(NarrowKernelsAvx2(8), nullptr);
  for (int rows = 1; rows <= narrow.mr; ++rows) {
    const RandomTile tile(rows, narrow.nr);
    std::vector<int16_t> words;
    for (size_t i = 0; i < tile.b.size() / 2; ++i) words.push_back(static_cast<int8_t>(tile.b[i]));
    alignas(64) int32_t expected[kMaxQuantSums] = {}, sums[kMaxQuantSums] = {};
    narrow.tile[rows](tile.Args(sums));
    QuantTileArgs args = tile.Args(expected);
    args.b = reinterpret_cast<const std::byte*>(words.data());
    wide.tile[rows](args);
    EXPECT_TRUE(std::ranges::equal(sums, expected)) << rows << " rows";
  }
}

TEST(QuantisedTiles, StoreTheBytesThatTheirSumsBecome) {
  if (!RunsAvx512Vnni()) GTEST_SKIP() << "no AVX-512 VNNI";
  for (const int64_t columns : {16, 32}) {
    ASSERT_EQ(GetQuantKernels(columns).nr, columns);
    CheckTiles(GetQuantKernels(columns));
  }
}

TEST(QuantisedTiles, StoreTheBytesThatTheirSumsBecomeInVectorsOf256Bits) {
  if (!RunsAvx2() || QuantKernelsAvx2(16) == nullptr) GTEST_SKIP() << "no AVX2";
  for (const int64_t columns : {8, 16}) CheckTiles(*QuantKernelsAvx2(columns));
  if (GetCpuInfo().avx_vnni && QuantKernelsAvxVnni() != nullptr) CheckTiles(*QuantKernelsAvxVnni());
}

}  // namespace
}  // namespace fettle::kernels
