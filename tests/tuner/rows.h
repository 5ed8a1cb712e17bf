// Rows to put into stores, and folders to put stores into.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "tuner/store.h"

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

/// A folder that goes with the test; everybody may enter it. In memory where that is possible,
/// since these tests make thousands of files that nobody wants on a disk.
class TestFolder {
 public:
  TestFolder() {
    const bool memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    std::string name = (memory ? "/dev/shm/" : testing::TempDir()) + "fettle.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string file(const std::string& name = "tuning.db") const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

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
