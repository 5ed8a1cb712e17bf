// Rows to put into stores.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/test_folder.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

inline RowKey KeyOf(int index) {
  return {.problem = fmt::format("threads 2\ninput %#0: f32[1x{}x4x4]\n", index),
          .kernel = "cpu.conv.direct.nhwc",
          .params = "rows=4,tile=8",
          .device = "A processor; 2 cores; driver 1.0",
          .build = "gcc 12 -O3 0123456789abcdef"};
}

/// Every field tells which row it is, so that a mixture of two shows.
inline Row RowOf(int index, int64_t seconds = 1'000'000) {
  return {.median_us = index + 0.5,
          .mad_us = index + 0.25,
          .low_us = index + 0.125,
          .samples = index,
          .error = index * 1e-3,
          .unix_seconds = seconds};
}

inline void ExpectRow(const Result<Row>& found, const Row& want) {
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->status, want.status);
  EXPECT_EQ(found->median_us, want.median_us);
  EXPECT_EQ(found->mad_us, want.mad_us);
  EXPECT_EQ(found->low_us, want.low_us);
  EXPECT_EQ(found->samples, want.samples);
  EXPECT_EQ(found->error, want.error);
  EXPECT_EQ(found->reason, want.reason);
  EXPECT_EQ(found->unix_seconds, want.unix_seconds);
  EXPECT_EQ(found->prior, want.prior);
}

inline std::string DatabaseIn(const TestFolder& folder) { return folder.file("tuning.db"); }

/// The warnings that the library logs while one lives.
class Warnings {
 public:
  Warnings() {
    SetLogSink(
        [this](LogLevel, std::string_view line) {
          std::lock_guard lock(mutex_);
          lines_.emplace_back(line);
        },
        LogLevel::kWarn);
  }
  ~Warnings() { SetLogSink(nullptr, LogLevel::kWarn); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::vector<std::string> lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace fettle::tuner
