#include "kernels/cpu/quantised/fused_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cpu/quantised_elementwise/fused_product.h"

namespace fettle::kernels {
namespace {

constexpr size_t kBytes = 256;

struct Pair {
  float a;  // less its zero point
  float b;
  uint8_t y;  // without sign
};

/// The sums of each byte and all others, as `add` computes them.
std::vector<uint8_t> AllSums(PairRowArgs args, PairRowFunction add) {
  std::array<uint8_t, kBytes> all, one;
  std::iota(all.begin(), all.end(), uint8_t{0});
  std::vector<uint8_t> sums(kBytes * kBytes);
  args.a = one.data();
  args.b = all.data();
  args.n = kBytes;
  args.a_stride = args.b_stride = 1;
  for (size_t a = 0; a < kBytes; ++a) {
    one.fill(static_cast<uint8_t>(a));
    args.y = sums.data() + a * kBytes;
    add(args);
  }
  return sums;
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
std::vector<Pair> DoubtfulPairs(const std::vector<uint8_t>& sums, const PairRowArgs& args,
                                const FusedSum& f) {
  constexpr double kDoubt = 1e-3, kRound = 0x1.8p52;  // sums with it are whole
  std::vector<Pair> doubtful;
  for (size_t i = 0; i < sums.size(); ++i) {
    const float a = static_cast<float>((i / kBytes) ^ args.a_type.flip) - args.a_type.zero;
    const float b = static_cast<float>((i % kBytes) ^ args.b_type.flip);
    const double steps = double{a} * f.product + double{b} * f.shortcut + f.add;
    const double whole = (steps + kRound) - kRound;
    if (0.5 - std::fabs(steps - whole) < kDoubt)
      doubtful.push_back({a, b, static_cast<uint8_t>(sums[i] ^ args.y_type.flip)});
  }
  return doubtful;
}

}  // namespace

std::optional<FusedSum> FindFusedSum(const PairRowArgs& sum) {
  const std::vector<uint8_t> sums = AllSums(sum, FindPairRow(PairOp::kAdd));
  FusedSum middle{.product = sum.a_type.scale / sum.y_type.scale,
                  .shortcut = sum.b_type.scale / sum.y_type.scale};
  middle.add = -sum.b_type.zero * middle.shortcut;
  const std::vector<Pair> doubtful = DoubtfulPairs(sums, sum, middle);
  constexpr std::array<int, 5> kSteps{0, 1, -1, 2, -2};
  for (int add : kSteps) {
    for (int product : kSteps) {
      for (int shortcut : kSteps) {
        const FusedSum f{.product = Ulps(middle.product, product),
                         .shortcut = Ulps(middle.shortcut, shortcut),
                         .add = Ulps(middle.add, add)};
        if (!std::ranges::all_of(doubtful, [&](const Pair& pair) { return Agrees(f, sum, pair); }))
          continue;
        PairRowArgs fused = sum;
        fused.fused = f;
        return AllSums(fused, RunSumRow) == sums ? std::optional(f) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace fettle::kernels
