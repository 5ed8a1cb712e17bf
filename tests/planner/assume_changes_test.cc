#include <gtest/gtest.h>

#include "planner/assume.h"

namespace fettle::planner {
namespace {

/// Kinds of two entries each: on all threads, on one.
class AssumeChangesTest : public testing::Test {
 protected:
  static constexpr size_t kOneThread = 1;

  void AddKind(double base_us) {
    Kind kind;
    kind.entries.resize(2);
    kind.entries[kOneThread].base = 0;
    kind.entries[kOneThread].change = "1";
    catalogue_.kinds.push_back(std::move(kind));
    prices_.push_back({{.us = base_us, .measured = true, .seen_us = base_us}, {.us = 1}});
  }
  void Try(size_t kind, double us) {
    prices_[kind][kOneThread] = {.us = us, .measured = true, .seen_us = us};
  }
  /// What the assumptions make of one thread in the last kind.
  double Assumed() {
    auto prices = prices_;
    AssumeOfChanges(catalogue_, prices);
    return prices.back()[kOneThread].us;
  }

  Catalogue catalogue_;
  std::vector<std::vector<EntryCost>> prices_;
};

TEST_F(AssumeChangesTest, WhatGainedNothingFourTimesGainsNothing) {
  for (size_t i = 0; i < 5; ++i) AddKind(100);
  for (size_t i = 0; i < 3; ++i) Try(i, 110);
  EXPECT_DOUBLE_EQ(Assumed(), 1) << "three times are not enough";
  Try(3, 99);
  EXPECT_GT(Assumed(), 100);
  EXPECT_LT(Assumed(), 101);
}

TEST_F(AssumeChangesTest, WhatGainedOnceMayGain) {
  for (size_t i = 0; i < 6; ++i) AddKind(100);
  for (size_t i = 0; i < 4; ++i) Try(i, 110);
  Try(4, 80);
  EXPECT_DOUBLE_EQ(Assumed(), 1);
}

TEST_F(AssumeChangesTest, OneThreadMayGainWhereThereIsLessToDo) {
  for (size_t i = 0; i < 4; ++i) AddKind(100);
  for (size_t i = 0; i < 4; ++i) Try(i, 150);
  AddKind(90);
  EXPECT_DOUBLE_EQ(Assumed(), 1);
  AddKind(200);
  EXPECT_GT(Assumed(), 200);
}

}  // namespace
}  // namespace fettle::planner
