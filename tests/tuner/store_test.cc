// What every store promises, in memory and in a database.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/tuner/rows.h"

namespace fettle::tuner {
namespace {

struct Kind {
  const char* name;
  std::unique_ptr<Store> (*open)(const std::string& path);
};

class StoreTest : public testing::TestWithParam<Kind> {
 protected:
  TestFolder folder_;
  std::unique_ptr<Store> store_ = GetParam().open(DatabaseIn(folder_));
};

constexpr Kind kKinds[] = {
    {"Memory", [](const std::string&) { return MemoryStore(); }},
    {"Sqlite", [](const std::string& path) { return OpenStore(path); }},
};
INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(StoreTest, FindsWhatWasPutLast) {
  EXPECT_EQ(store_->Find(KeyOf(1)).status().code(), StatusCode::kNotFound);
  store_->Put(KeyOf(1), RowOf(1));
  store_->Put(KeyOf(2), RowOf(2));
  ExpectRow(store_->Find(KeyOf(1)), RowOf(1));
  store_->Put(KeyOf(1), RowOf(3));
  ExpectRow(store_->Find(KeyOf(1)), RowOf(3));
  ExpectRow(store_->Find(KeyOf(2)), RowOf(2));
  EXPECT_EQ(store_->trouble(), "");
}

TEST_P(StoreTest, EachPartOfTheKeyCounts) {
  store_->Put(KeyOf(1), RowOf(1));
  const auto misses = [&](auto change) {
    RowKey key = KeyOf(1);
    change(key);
    EXPECT_EQ(store_->Find(key).status().code(), StatusCode::kNotFound);
  };
  misses([](RowKey& key) { key.problem += ' '; });
  misses([](RowKey& key) { key.kernel = "cpu.conv.direct.nchw"; });
  misses([](RowKey& key) { key.version = 2; });
  misses([](RowKey& key) { key.params = ""; });
  misses([](RowKey& key) { key.device = "Another processor; 2 cores; driver 1.0"; });
  misses([](RowKey& key) { std::swap(key.problem, key.kernel); });
}

TEST_P(StoreTest, TheYoungestRowOfAnotherBuildProtocolOrDriverIsAPrior) {
  RowKey build = KeyOf(1), driver = KeyOf(1), protocol = KeyOf(1);
  build.build = "gcc 13";
  driver.device = "A processor; 2 cores; driver 2.0";
  protocol.protocol = 2;
  Row want = RowOf(2, 300);
  store_->Put(protocol, RowOf(1, 200));
  store_->Put(driver, want);
  store_->Put(build, RowOf(3, 100));
  want.prior = true;
  ExpectRow(store_->Find(KeyOf(1)), want);
  store_->Put(KeyOf(1), RowOf(4, 50));
  ExpectRow(store_->Find(KeyOf(1)), RowOf(4, 50));
}

TEST_P(StoreTest, APriorThatIsMeasuredAgainIsNoPrior) {
  RowKey old = KeyOf(1);
  old.build = "gcc 11";
  store_->Put(old, RowOf(1));
  Row found = *store_->Find(KeyOf(1));
  EXPECT_TRUE(found.prior);
  store_->Put(KeyOf(1), found);
  EXPECT_FALSE(store_->Find(KeyOf(1))->prior);
}

TEST_P(StoreTest, KeepsEveryStatusWithItsReason) {
  using enum Row::Status;
  int index = 0;
  for (const Row::Status status : {kOk, kWrong, kFailed, kCrashed, kStopped}) {
    Row row = RowOf(++index);
    row.status = status;
    row.reason = fmt::format("reason {}\n'quoted' \xff\xfe", index);
    store_->Put(KeyOf(index), row);
    ExpectRow(store_->Find(KeyOf(index)), row);
  }
}

TEST_P(StoreTest, KeepsEveryNumber) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Row row = RowOf(1, -5);
  row.median_us = std::numeric_limits<double>::denorm_min();
  row.mad_us = 0.1;
  row.low_us = 3;
  row.error = kInfinity;
  row.samples = std::numeric_limits<int>::max();
  store_->Put(KeyOf(1), row);
  ExpectRow(store_->Find(KeyOf(1)), row);
  row.error = std::numeric_limits<double>::quiet_NaN();
  row.mad_us = -0.0;
  store_->Put(KeyOf(1), row);
  ASSERT_TRUE(store_->Find(KeyOf(1)).ok());
  EXPECT_EQ(store_->Find(KeyOf(1))->error, kInfinity);
  EXPECT_FALSE(std::signbit(store_->Find(KeyOf(1))->mad_us));
}

TEST_P(StoreTest, DatesARowThatHasNoDate) {
  store_->Put(KeyOf(1), RowOf(1, 0));
  EXPECT_GT(store_->Find(KeyOf(1))->unix_seconds, 1'600'000'000);
}

TEST_P(StoreTest, TextsMayHoldAnything) {
  RowKey key = KeyOf(1);
  key.problem = std::string("a\0b'; DROP TABLE rows; --\xf0\x28\x8c\x28", 30);
  key.params = "";
  key.kernel = std::string(100'000, 'k');
  store_->Put(key, RowOf(1));
  ExpectRow(store_->Find(key), RowOf(1));
  key.problem[1] = 'x';
  EXPECT_FALSE(store_->Find(key).ok());
}

TEST_P(StoreTest, SeveralThreadsMayUseIt) {
  constexpr int kThreads = 4, kRows = 50;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRows; ++i) {
        const RowKey key = KeyOf(i * kThreads + thread);
        store_->BeginFlight(key);
        store_->Put(key, RowOf(i));
        store_->EndFlight(key);
        store_->PutDecision("graph", store_->trouble());
        (void)store_->FindDecision("graph");
        (void)store_->Find(KeyOf(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads * kRows; ++i) ExpectRow(store_->Find(KeyOf(i)), RowOf(i / kThreads));
}

TEST_P(StoreTest, TakesTextsOfAnyLength) {
  RowKey key = KeyOf(1);
  key.problem.assign(100 << 20, 'p');
  store_->Put(key, RowOf(1));
  ExpectRow(store_->Find(key), RowOf(1));
  store_->PutDecision("graph", key.problem);
  EXPECT_EQ(store_->FindDecision("graph")->size(), key.problem.size());
  EXPECT_EQ(store_->trouble(), "");
}

TEST_P(StoreTest, KeepsDecisions) {
  EXPECT_EQ(store_->FindDecision("graph 1").status().code(), StatusCode::kNotFound);
  store_->PutDecision("graph 1", "old");
  store_->PutDecision("graph 1", "new");
  store_->PutDecision("graph 2", "");
  EXPECT_EQ(*store_->FindDecision("graph 1"), "new");
  EXPECT_EQ(*store_->FindDecision("graph 2"), "");
}

TEST_P(StoreTest, AFlightOfThisProcessIsNoCrash) {
  store_->BeginFlight(KeyOf(1));
  EXPECT_EQ(store_->Find(KeyOf(1)).status().code(), StatusCode::kNotFound);
  store_->Put(KeyOf(1), RowOf(1));
  store_->EndFlight(KeyOf(1));
  store_->EndFlight(KeyOf(2));
  ExpectRow(store_->Find(KeyOf(1)), RowOf(1));
}

}  // namespace
}  // namespace fettle::tuner
