#include "kernels/cpu/binary/tables.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

struct TableData {
  std::vector<uint64_t> x, w;
  std::vector<const uint64_t*> bases;
  std::vector<int64_t> steps;
};

/// `differs`: all bits, as many as can be counted; otherwise noise.
TableData MakeData(int64_t count, bool differs) {
  std::mt19937_64 random(7);
  TableData data;
  data.x.resize(static_cast<size_t>(count + 64));
  for (uint64_t& word : data.x) word = differs ? 0 : random();
  data.w.resize(static_cast<size_t>(count * kBitOutputs));
  for (uint64_t& word : data.w) word = differs ? ~uint64_t{0} : random();
  for (int64_t p = 0; p < 64; ++p) data.bases.push_back(data.x.data() + p);
  for (int64_t i = 0; i < count; ++i) data.steps.push_back(count - 1 - i);
  return data;
}

void ExpectCounts(int64_t count, int64_t pixels, bool differs) {
  const TableData data = MakeData(count, differs);
  std::vector<uint8_t> memory(static_cast<size_t>(count * 16 * pixels + 64)),
      pairs(static_cast<size_t>(count * 64));
  uint8_t* nibbles = memory.data();
  while (reinterpret_cast<uintptr_t>(nibbles) % 64 != 0) ++nibbles;
  constexpr int64_t kStride = 24;
  std::vector<int32_t> sums(static_cast<size_t>(pixels * kStride), -1);
  const TableArgs args{.pixels = pixels,
                       .count = count,
                       .nibbles = nibbles,
                       .pairs = pairs.data(),
                       .sums = sums.data(),
                       .stride = kStride};
  SplitNibbles(data.bases.data(), data.steps.data(), args, nibbles);
  PairNibbles(data.w.data(), count, pairs.data());
  CountByTables(args);
  for (int64_t p = 0; p < pixels; ++p) {
    for (int o = 0; o < kStride; ++o) {
      int32_t expected = o < kBitOutputs ? 0 : -1;  // what is beside stays
      for (int64_t i = 0; i < count && o < kBitOutputs; ++i)
        expected += std::popcount(data.bases[p][data.steps[i]] ^ data.w[i * kBitOutputs + o]);
      ASSERT_EQ(sums[p * kStride + o], expected)
          << count << " words, pixel " << p << " of " << pixels << ", " << o;
    }
  }
}

TEST(BinaryTables, CountWhatDiffers) {
  for (std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    if (TablePixels() == 0) continue;
    // Below, at and above what bytes and u16 hold.
    for (int64_t count : {1, 2, 3, 4, 9, 72, 1023, 1024, 2100}) {
      for (int64_t pixels = TablePixels(); pixels <= 64; pixels += TablePixels()) {
        ExpectCounts(count, pixels, false);
        ExpectCounts(count, pixels, true);
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
