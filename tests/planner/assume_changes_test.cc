#include <gtest/gtest.h>

#include "planner/assume.h"

namespace fettle::planner {
namespace {

/// Kinds of three entries each: default, other parameters, one thread.
class AssumeChangesTest : public testing::Test {
 protected:
  static constexpr size_t kTile = 1, kOneThread = 2;

  void AddKind(double base_us) {
    Kind kind;
    kind.entries.resize(3);
    kind.entries[kTile].default_params = false;
    kind.entries[kTile].base = 0;
    kind.entries[kTile].change = "tile+";
    kind.entries[kOneThread].base = 0;
    kind.entries[kOneThread].change = "1";
    catalogue_.kinds.push_back(std::move(kind));
    prices_.push_back({{.us = base_us, .measured = true, .tried = true}, {.us = 1}, {.us = 1}});
  }
  void Try(size_t kind, size_t entry, double us) {
    prices_[kind][entry] = {.us = us, .measured = true, .tried = true};
  }
  /// What the assumptions make of an entry of the last kind.
  double Assumed(size_t entry, bool repeat = true) {
    auto prices = prices_;
    AssumeOfChanges(catalogue_, {.least_of_default = 0.5, .changes_repeat = repeat}, prices);
    return prices.back()[entry].us;
  }

  Catalogue catalogue_;
  std::vector<std::vector<EntryCost>> prices_;
};

TEST_F(AssumeChangesTest, WhatGainedNothingFourTimesGainsNothing) {
  for (size_t i = 0; i < 5; ++i) AddKind(100);
  for (size_t i = 0; i < 3; ++i) Try(i, kTile, 110);
  EXPECT_DOUBLE_EQ(Assumed(kTile), 50) << "three times are not enough";
  Try(3, kTile, 99);
  EXPECT_GT(Assumed(kTile), 100);
  EXPECT_LT(Assumed(kTile), 101);
  EXPECT_DOUBLE_EQ(Assumed(kTile, /*repeat=*/false), 50);
}

TEST_F(AssumeChangesTest, WhatGainedOnceMayGain) {
  for (size_t i = 0; i < 6; ++i) AddKind(100);
  for (size_t i = 0; i < 4; ++i) Try(i, kTile, 110);
  Try(4, kTile, 80);
  EXPECT_DOUBLE_EQ(Assumed(kTile), 50);
}

TEST_F(AssumeChangesTest, OneThreadMayGainWhereThereIsLessToDo) {
  for (size_t i = 0; i < 4; ++i) AddKind(100);
  for (size_t i = 0; i < 4; ++i) Try(i, kOneThread, 150);
  AddKind(90);
  EXPECT_DOUBLE_EQ(Assumed(kOneThread), 1);
  AddKind(200);
  EXPECT_GT(Assumed(kOneThread), 200);
}

}  // namespace
}  // namespace fettle::planner
