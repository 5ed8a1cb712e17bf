#include "language/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fettle::language {
namespace {

TEST(SamplerTest, KeepsToTheLikeliest) {
  const std::vector<float> logits = {0, 3, NAN, 2.9F, -1};
  Sampler greedy({});
  EXPECT_EQ(greedy.Next(logits), 1);
  Sampler first({.temperature = 1, .top_k = 1});
  EXPECT_EQ(first.Next(logits), 1);
  Sampler two({.temperature = 1, .top_k = 2, .top_p = 1, .seed = 5});
  int counts[5] = {};
  for (int i = 0; i < 1000; ++i) ++counts[two.Next(logits)];
  EXPECT_GT(counts[1], 450);
  EXPECT_GT(counts[3], 400);
  EXPECT_EQ(counts[1] + counts[3], 1000);
}

/// NaN behind all numbers, and of equal ones the first before the others.
std::vector<int32_t> Sorted(const std::vector<float>& logits) {
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (std::isnan(logits[a]) || std::isnan(logits[b]))
      return !std::isnan(logits[a]) && std::isnan(logits[b]);
    return logits[a] > logits[b];
  });
  return order;
}

TEST(SamplerTest, FindsTheGreatestOfManyWithTiesAndNan) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<float> logits(1 + random() % 1500);
    const auto values = 1 + random() % 2000, odd = random() % 4;
    for (float& logit : logits) {
      logit = static_cast<float>(random() % values) - 500.0F;
      const auto kind = random() % 8;
      if (kind < odd) logit = kind == 0 ? NAN : kind == 1 ? -INFINITY : -0.0F;
    }
    const std::vector<int32_t> order = Sorted(logits);
    EXPECT_EQ(Sampler({}).Next(logits), order[0]);
    // A temperature that gives each as much: the draw tells which are kept.
    const auto kept = std::min<int64_t>(1 + random() % 60, std::ssize(logits));
    Sampler sampler({.temperature = 1e30, .top_k = kept, .top_p = 1, .seed = random()});
    for (int draw = 0; draw < 20; ++draw) {
      const int32_t token = sampler.Next(logits);
      EXPECT_LT(std::ranges::find(order, token) - order.begin(), kept);
    }
  }
}

TEST(SamplerTest, NanIsChosenWhereThereIsNothingElse) {
  EXPECT_EQ(Sampler({}).Next(std::vector<float>(700, NAN)), 0);
  std::vector<float> one(700, NAN);
  one[650] = -INFINITY;
  EXPECT_EQ(Sampler({}).Next(one), 650);
}

}  // namespace
}  // namespace fettle::language
