#include "language/bit_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fettle::language {
namespace {

using Items = std::vector<std::vector<SizeOption>>;

/// The least damage within the limit, by trying all.
double Best(const Items& items, size_t at, int64_t left) {
  if (left < 0) return HUGE_VAL;
  if (at == items.size()) return 0;
  double best = HUGE_VAL;
  for (const SizeOption& option : items[at])
    best = std::min(best, option.damage + Best(items, at + 1, left - option.bytes));
  return best;
}

TEST(BitChoice, FindsWhatTryingAllFinds) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 300; ++turn) {
    Items items(1 + random() % 6);
    int64_t least = 0, most = 0;
    for (auto& options : items) {
      options.resize(1 + random() % 4);
      int64_t small = INT64_MAX, large = 0;
      for (SizeOption& option : options) {
        option = {static_cast<int64_t>(random() % 20 * (random() % 2 + 1)),
                  static_cast<double>(random() % 100) / 7};
        small = std::min(small, option.bytes);
        large = std::max(large, option.bytes);
      }
      least += small;
      most += large;
    }
    const int64_t limit =
        least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
    const auto chosen = ChooseSizes(items, limit);
    ASSERT_TRUE(chosen.ok());
    int64_t bytes = 0;
    double damage = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      bytes += items[i][(*chosen)[i]].bytes;
      damage += items[i][(*chosen)[i]].damage;
    }
    EXPECT_LE(bytes, limit);
    EXPECT_NEAR(damage, Best(items, 0, limit), 1e-9) << turn;
    EXPECT_FALSE(ChooseSizes(items, least - 1).ok());
  }
}

}  // namespace
}  // namespace fettle::language
