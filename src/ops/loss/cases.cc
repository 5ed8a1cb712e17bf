#include "ops/cases.h"

namespace fettle::ops {

std::span<const Case> LossCases() {
  static constexpr Case kCases[] = {
      {"loss.mean_weight",
       "input %x: f32[3x5x7]\ninput %t: i64[3x7] = noise(0, 4)\nconst %w: f32[5] = noise(0.1, 1)\n"
       "%y = NegativeLogLikelihoodLoss(%x, %t, %w)\noutput %y\n"},
      {"loss.none_ignored",
       "input %x: f32[3x5x2x7]\ninput %t: i64[3x2x7] = noise(0, 4)\n"
       "%y = NegativeLogLikelihoodLoss(%x, %t) {ignore_index=2, reduction=\"none\"}\n"
       "output %y\n"},
      {"loss.sum",
       "input %x: f32[13x5]\ninput %t: i32[13] = noise(0, 4)\n"
       "%y = NegativeLogLikelihoodLoss(%x, %t) {reduction=\"sum\"}\noutput %y\n"},
  };
  return kCases;
}

}  // namespace fettle::ops
