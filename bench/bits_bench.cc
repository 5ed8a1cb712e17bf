// The inner loops of products of bits (kernels/cpu/binary/tile.h, tables.h): multiply-adds a cycle
// of one thread, all data in the first-level cache, by the words of a tap. Cycles are those of a
// chain of dependent multiplications, 3 each on all x86 of today and on ARM's large cores, timed
// beside it. FETTLE_CPU_ISA=avx2 measures that target, as everywhere.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "kernels/cpu/binary/tables.h"
#include "kernels/cpu/binary/tile.h"

namespace {

using namespace fettle;           // NOLINT: a program of one file
using namespace fettle::kernels;  // NOLINT

constexpr int kRounds = 40;
constexpr int64_t kTaps = 9, kPixels = 64;

/// Least nanoseconds of a cycle in several runs.
double CycleNs() {
  constexpr int64_t kSteps = 200'000;
  double best = 1e9;
  uint64_t value = 3;
  for (int i = 0; i < kRounds; ++i) {
    const int64_t start = NowNs();
    for (int64_t step = 0; step < kSteps; ++step) {
      value *= value;
      __asm__ volatile("" : "+r"(value));
    }
    best = std::min(best, static_cast<double>(NowNs() - start) / (3.0 * kSteps));
  }
  return best;
}

template <typename F>
double LeastNs(int64_t words, F&& run) {
  const int64_t calls = std::max<int64_t>(1, 2000 / words);
  double best = 1e18;
  for (int i = 0; i < kRounds; ++i) {
    const int64_t start = NowNs();
    for (int64_t call = 0; call < calls; ++call) run();
    best = std::min(best, static_cast<double>(NowNs() - start) / static_cast<double>(calls));
  }
  return best;
}

/// Multiply-adds a nanosecond of one panel, or two at once, over the pixels of a task; 0: not here.
struct Rates {
  double words = 0, pairs = 0, tables = 0;
};
Rates RatesOf(const BitTile& tile, int64_t words) {
  std::vector<uint64_t> x(static_cast<size_t>((kPixels + kTaps) * words), 0x1234567890abcdef);
  std::vector<const uint64_t*> bases(kPixels);
  for (int64_t p = 0; p < kPixels; ++p) bases[p] = x.data() + p * words;
  std::vector<int64_t> steps(static_cast<size_t>(kTaps * words));
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(i);
  const auto weights = std::make_unique<uint64_t[]>(2 * steps.size() * kBitOutputs + 8);
  auto* aligned = weights.get();
  while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
  alignas(64) int32_t sums[2 * kPixels * kBitOutputs];
  const int tiles = static_cast<int>(kPixels) / tile.pixels;
  const BitSpan span{.pixels = tile.pixels, .tiles = tiles, .lines = kTaps};
  BitTileArgs args{.bases = bases.data(),
                   .steps = steps.data(),
                   .weights = aligned,
                   .count = kTaps * words,
                   .tiles = tiles,
                   .spans = {&span, 1},
                   .tap_steps = words,
                   .lines = kTaps,
                   .sums = sums};
  const double products = static_cast<double>(kPixels * kTaps * words * 64 * kBitOutputs);
  Rates rates{.words = products / LeastNs(words, [&] { tile.whole(args); })};
  std::vector<int64_t> halves(2 * steps.size());
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<int64_t>(i);
  if (tile.pair != nullptr) {
    args.steps = halves.data();
    args.count = std::ssize(halves);
    args.tap_steps = 2 * words;
    args.stride = 2 * kBitOutputs;
    rates.pairs = 2 * products / LeastNs(words, [&] { tile.pair(args); });
  }
  if (TablePixels() == 0) return rates;
  std::vector<uint8_t> memory(static_cast<size_t>(kTaps * words * 16 * kPixels + 64));
  uint8_t* nibbles = memory.data();
  while (reinterpret_cast<uintptr_t>(nibbles) % 64 != 0) ++nibbles;
  std::vector<uint8_t> pairs(steps.size() * 64);
  PairNibbles(aligned, kTaps * words, pairs.data());
  const TableArgs tables{.pixels = kPixels,
                         .count = kTaps * words,
                         .nibbles = nibbles,
                         .pairs = pairs.data(),
                         .sums = sums};
  rates.tables = products / LeastNs(words, [&] { CountByTables(tables); });
  return rates;
}

}  // namespace

int main() {
  const BitTile tile = ChooseBitTile();
  for (const int64_t words : {1, 2, 4, 8}) {
    const double cycle = CycleNs();
    const Rates rates = RatesOf(tile, words);
    std::printf(
        "%4lld channels at %.2f GHz, multiply-adds a cycle: a panel %.0f, two at once %.0f, "
        "by tables %.0f\n",
        static_cast<long long>(words * 64), 1 / cycle, rates.words * cycle, rates.pairs * cycle,
        rates.tables * cycle);
  }
  return 0;
}
