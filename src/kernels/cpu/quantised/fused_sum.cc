#include "kernels/cpu/quantised/fused_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace fettle::kernels {
namespace {

constexpr int kBytes = 256;

struct Pair {
  float a;  // less its zero point
  float b;
  uint8_t y;  // without sign
};

/// The sums of all pairs, as cpu.quantised.pair computes them.
std::vector<Pair> AllPairs(PairRowArgs args) {
  std::array<uint8_t, kBytes> all, row;
  std::iota(all.begin(), all.end(), uint8_t{0});
  args.a_stride = 0;
  args.b_stride = 1;
  args.b = all.data();
  args.y = row.data();
  args.n = kBytes;
  std::vector<Pair> pairs;
  pairs.reserve(kBytes * kBytes);
  const PairRowFunction add = FindPairRow(PairOp::kAdd);
  for (const uint8_t& a : all) {
    args.a = &a;
    add(args);
    for (size_t b = 0; b < kBytes; ++b) {
      pairs.push_back({static_cast<float>(a ^ args.a_type.flip) - args.a_type.zero,
                       static_cast<float>(all[b] ^ args.b_type.flip),
                       static_cast<uint8_t>(row[b] ^ args.y_type.flip)});
    }
  }
  return pairs;
}

bool Agrees(const FusedSum& f, const PairRowArgs& args, const Pair& pair) {
  const float steps = std::fma(pair.a, f.product, std::fma(pair.b, f.shortcut, f.add));
  return std::clamp(std::nearbyint(steps) + args.y_type.zero, args.low, args.high) == pair.y;
}

float Ulps(float x, int n) {
  const float to =
      n < 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  for (int i = 0; i < std::abs(n); ++i) x = std::nextafterf(x, to);
  return x;
}

/// Pairs whose sums lie so close to the middle of two steps that a few ulps matter.
std::vector<Pair> DoubtfulPairs(const std::vector<Pair>& pairs, const FusedSum& f) {
  constexpr double kDoubt = 1e-3;
  std::vector<Pair> doubtful;
  for (const Pair& pair : pairs) {
    const double steps = double{pair.a} * f.product + double{pair.b} * f.shortcut + f.add;
    if (std::fabs(steps - std::floor(steps) - 0.5) < kDoubt) doubtful.push_back(pair);
  }
  return doubtful;
}

}  // namespace

std::optional<FusedSum> FindFusedSum(const PairRowArgs& sum) {
  const std::vector<Pair> pairs = AllPairs(sum);
  FusedSum middle{.product = sum.a_type.scale / sum.y_type.scale,
                  .shortcut = sum.b_type.scale / sum.y_type.scale};
  middle.add = -sum.b_type.zero * middle.shortcut;
  const std::vector<Pair> doubtful = DoubtfulPairs(pairs, middle);
  const auto agrees = [&](const FusedSum& f, const std::vector<Pair>& with) {
    return std::all_of(with.begin(), with.end(),
                       [&](const Pair& pair) { return Agrees(f, sum, pair); });
  };
  constexpr std::array<int, 5> kSteps{0, 1, -1, 2, -2};
  for (int add : kSteps) {
    for (int product : kSteps) {
      for (int shortcut : kSteps) {
        const FusedSum f{.product = Ulps(middle.product, product),
                         .shortcut = Ulps(middle.shortcut, shortcut),
                         .add = Ulps(middle.add, add)};
        if (!agrees(f, doubtful)) continue;
        return agrees(f, pairs) ? std::optional(f) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace fettle::kernels
