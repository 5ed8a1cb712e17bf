#include "tuner/search/remembered_search.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fettle::tuner {
namespace {

SearchSpace Line() {
  Parameter parameter{"A", {}};
  for (int64_t i = 0; i < 20; ++i) parameter.values.emplace_back(i);
  return SearchSpace::Create({parameter}).value();
}

RowKey Key(const std::string& build = "1") {
  RowKey key;
  key.problem = "own code";
  key.kernel = "line";
  key.device = "some cpu";
  key.build = build;
  return key;
}

RememberedSearch Make(std::shared_ptr<Store> store, const RowKey& key, int64_t evaluations = 20) {
  return RememberedSearch::Create(Line(), {.seed = 1, .max_evaluations = evaluations},
                                  std::move(store), key)
      .value();
}

double Time(const Point& point) { return 1 + std::abs(point[0] - 13); }

/// Measures until the search ends; how many times.
int Drain(RememberedSearch& search) {
  int measured = 0;
  for (; const auto point = search.Ask(); ++measured) search.Tell(Time(*point));
  return measured;
}

TEST(RememberedSearchTest, MeasuresNothingTwice) {
  const std::shared_ptr<Store> store = MemoryStore();
  RememberedSearch first = Make(store, Key());
  EXPECT_EQ(Drain(first), 20);
  RememberedSearch second = Make(store, Key());
  EXPECT_EQ(Drain(second), 0);
  EXPECT_EQ(second.reused(), 20);
  EXPECT_EQ(second.search().best()->point, Point{13});
}

TEST(RememberedSearchTest, AnotherBuildStartsFromTheBestAndMeasuresAgain) {
  const std::shared_ptr<Store> store = MemoryStore();
  RememberedSearch first = Make(store, Key("1"));
  Drain(first);
  RememberedSearch second = Make(store, Key("2"), 3);
  EXPECT_EQ(second.Ask(), Point{13});
  EXPECT_EQ(Drain(second), 3);
  EXPECT_EQ(second.reused(), 0);
}

TEST(RememberedSearchTest, FailuresAreRememberedWithTheirReason) {
  const std::shared_ptr<Store> store = MemoryStore();
  RememberedSearch search = Make(store, Key());
  const Point point = *search.Ask();
  search.Tell(std::nullopt, Row::Status::kWrong, "differs in column 3");
  RowKey key = Key();
  key.params = Line().Print(point);
  const Row row = store->Find(key).value();
  EXPECT_EQ(row.status, Row::Status::kWrong);
  EXPECT_EQ(row.reason, "differs in column 3");
  RememberedSearch again = Make(store, Key());
  EXPECT_NE(again.Ask(), point);
  EXPECT_EQ(again.search().best(), nullptr);
}

TEST(RememberedSearchTest, WhatWasStoppedIsMeasured) {
  const std::shared_ptr<Store> store = MemoryStore();
  for (int i = 0; i < 20; ++i) {
    RowKey key = Key();
    key.params = Line().Print({i});
    store->Put(key, {.status = Row::Status::kStopped, .low_us = 5});
  }
  RememberedSearch search = Make(store, Key());
  EXPECT_EQ(Drain(search), 20);
}

TEST(RememberedSearchTest, ABestOfAnotherSpaceIsLeftOut) {
  const std::shared_ptr<Store> store = MemoryStore();
  store->PutDecision("best line for own code", "A=77,B=1");
  RememberedSearch search = Make(store, Key(), 2);
  EXPECT_EQ(Drain(search), 2);
}

}  // namespace
}  // namespace fettle::tuner
