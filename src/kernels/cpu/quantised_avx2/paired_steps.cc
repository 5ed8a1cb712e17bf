#include "kernels/cpu/quantised_avx2/paired_steps.h"

#include <algorithm>
#include <cstdlib>

namespace fettle::kernels {
namespace {

constexpr int kSteps = 2, kSums = 2, kSigns = 2;

/// What the bytes of a step add to a sum with one sign, as a magnitude.
struct Parts {
  int of[kSteps][kSums][kSigns] = {};

  explicit Parts(const int8_t* bytes) {
    for (int i = 0; i < kPairedWeights; ++i)
      of[i / 4][i / 2 % kSums][bytes[i] < 0 ? 1 : 0] += std::abs(bytes[i]);
  }
  int Excess(int sum, int sign) const {
    return std::max(of[0][sum][sign] + of[1][sum][sign] - kMostOfSign, 0);
  }
  bool Fit() const { return (Excess(0, 0) | Excess(0, 1) | Excess(1, 0) | Excess(1, 1)) == 0; }
};

/// Takes up to `excess` off the bytes of a step that add to a sum with one sign; returns how much.
int TakeOff(int8_t* bytes, int step, int sum, int sign, int excess) {
  int taken = 0;
  for (int i = step * 4 + sum * 2; i < step * 4 + sum * 2 + 2; ++i) {
    if ((bytes[i] < 0) != (sign != 0)) continue;
    const int part = std::min(std::abs(bytes[i]), excess - taken);
    bytes[i] = static_cast<int8_t>(bytes[i] + (sign != 0 ? part : -part));
    taken += part;
  }
  return taken;
}

/// In how many sums, by sign, a step has at least what is too much.
int Covered(const Parts& parts, int step) {
  int count = 0;
  for (int sum = 0; sum < kSums; ++sum) {
    for (int sign = 0; sign < kSigns; ++sign)
      count += parts.of[step][sum][sign] >= parts.Excess(sum, sign) ? 1 : 0;
  }
  return count;
}

void TakeExcess(const Parts& parts, int8_t* bytes) {
  // A step that has all of it leaves the other one without a rest.
  const int first = Covered(parts, 1) > Covered(parts, 0) ? 1 : 0;
  for (int sum = 0; sum < kSums; ++sum) {
    for (int sign = 0; sign < kSigns; ++sign) {
      const int excess = parts.Excess(sum, sign);
      const int taken = TakeOff(bytes, first, sum, sign, excess);
      TakeOff(bytes, 1 - first, sum, sign, excess - taken);
    }
  }
}

}  // namespace

void SplitPairedSteps(int16_t* weights, int8_t* bytes) {
  for (int i = 0; i < kPairedWeights; ++i)
    bytes[i] = static_cast<int8_t>(std::clamp<int16_t>(weights[i], -128, 127));
  const Parts parts(bytes);
  if (!parts.Fit()) TakeExcess(parts, bytes);
  for (int i = 0; i < kPairedWeights; ++i) weights[i] = static_cast<int16_t>(weights[i] - bytes[i]);
}

}  // namespace fettle::kernels
