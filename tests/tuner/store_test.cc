// What every store promises.
#include "tuner/store.h"

#include <gtest/gtest.h>

namespace fettle::tuner {
namespace {

RowKey Key() {
  return {.problem = "threads 2\ninputs cpu:host:NHWC:f32\n",
          .kernel = "cpu.conv.direct.nhwc",
          .params = "rows=4,tile=8",
          .device = "A processor; 2 cores; driver 1.0",
          .build = "gcc 12 -O3 0123456789abcdef"};
}

Row Measured(double us, int64_t seconds) {
  return {.median_us = us, .mad_us = 0.25, .low_us = us - 1, .samples = 7, .unix_seconds = seconds};
}

TEST(MemoryStoreTest, FindsWhatWasPut) {
  const auto store = MemoryStore();
  EXPECT_EQ(store->Find(Key()).status().code(), StatusCode::kNotFound);
  store->Put(Key(), Measured(10, 1));
  store->Put(Key(), Measured(20, 2));
  ASSERT_TRUE(store->Find(Key()).ok());
  EXPECT_EQ(store->Find(Key())->median_us, 20);
  EXPECT_FALSE(store->Find(Key())->prior);
}

TEST(MemoryStoreTest, TheYoungestRowOfAnotherBuildIsAPrior) {
  const auto store = MemoryStore();
  RowKey build = Key(), driver = Key(), kernel = Key();
  build.build = "gcc 13";
  driver.device = "A processor; 2 cores; driver 2.0";
  kernel.version = 2;
  store->Put(driver, Measured(30, 3));
  store->Put(build, Measured(20, 2));
  store->Put(kernel, Measured(40, 4));
  const Result<Row> row = store->Find(Key());
  ASSERT_TRUE(row.ok());
  EXPECT_TRUE(row->prior);
  EXPECT_EQ(row->median_us, 30);
}

}  // namespace
}  // namespace fettle::tuner
