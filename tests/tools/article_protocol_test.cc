// How `fettle gemm --protocol article` counts runs and tells their mean.
#include "jobs/article_protocol.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>

namespace fettle::tools {
namespace {

TEST(ArticleProtocol, MeansTheEventsOfTwentyRunsAfterTen) {
  int runs = 0;
  int64_t busy_ns = 0;
  const auto run = [&] {
    // Warm-ups are slow, and the mean of the others is no median.
    busy_ns += runs < kArticleWarmUps    ? 1'000'000'000
               : runs == kArticleWarmUps ? 21'000'000
                                         : 1'000'000;
    ++runs;
    return OkStatus();
  };
  const auto take = [&] { return std::exchange(busy_ns, 0); };
  const Result<ArticleTime> time = TimeAsArticle(run, take);
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(runs, 30);
  EXPECT_TRUE(time->by_events);
  EXPECT_DOUBLE_EQ(time->ms, (21 + 19) / 20.0);
}

TEST(ArticleProtocol, TakesTheClockWhereADeviceTellsNothing) {
  const auto run = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return OkStatus();
  };
  const Result<ArticleTime> time = TimeAsArticle(run, [] { return int64_t{-1}; });
  ASSERT_TRUE(time.ok());
  EXPECT_FALSE(time->by_events);
  EXPECT_GE(time->ms, 1);
}

TEST(ArticleProtocol, FailsAsARunDoes) {
  int runs = 0;
  const auto run = [&] { return ++runs < 12 ? OkStatus() : Unsupported("no more"); };
  const Result<ArticleTime> time = TimeAsArticle(run, [] { return int64_t{0}; });
  EXPECT_EQ(time.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(runs, 12);
}

TEST(ArticleProtocol, CountsGigaAsPowersOfTwo) {
  // A product of 1024 cubed in a second is 2 of these, and 2.147 of 10^9.
  const ArticleTime second{.ms = 1000, .by_events = true};
  EXPECT_DOUBLE_EQ(second.GflopsOf1024Cubed(2.0 * 1024 * 1024 * 1024), 2);
  EXPECT_EQ(ArticleTime{}.GflopsOf1024Cubed(1), 0);
}

}  // namespace
}  // namespace fettle::tools
