// What the library says of files that it cannot use and numbers that it cannot take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "fettle/fettle.hpp"
#include "tests/test_folder.h"

namespace {

using ::testing::HasSubstr;

fettle::Session DemoSession() {
  const fettle::Model model = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  fettle::Session session = fettle::Session::Create(model, {.threads = 1}).value();
  fettle::Tensor picture = fettle::Tensor::Create(FETTLE_F32, {1, 3, 4, 4}).value();
  session.SetInput("picture", picture).value();
  return session;
}

TEST(CApiFailures, ThreadsAreBoundedAsInTheProgram) {
  const fettle::Model model = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  for (const int threads : {-1, 1025, 1 << 30}) {
    EXPECT_EQ(fettle::Session::Create(model, {.threads = threads}).code(), FETTLE_INVALID_ARGUMENT);
    EXPECT_THAT(fettle_last_error(), HasSubstr("threads: expected 0 to 1024"));
  }
}

TEST(CApiFailures, ThreadsOfProductsAreBoundedAlike) {
  const float a = 2, b = 3;
  float c = 0;
  for (const int threads : {-1, 1025, 1 << 30}) {
    EXPECT_EQ(fettle_sgemm(0, 0, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1, threads),
              FETTLE_INVALID_ARGUMENT);
    EXPECT_THAT(fettle_last_error(), HasSubstr("threads: expected 0 to 1024"));
    fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
    options.threads = threads;
    fettle_gemm* gemm = nullptr;
    EXPECT_EQ(fettle_gemm_create(1, 1, 1, 1, 0, &options, &gemm), FETTLE_INVALID_ARGUMENT);
    EXPECT_THAT(fettle_last_error(), HasSubstr("threads: expected 0 to 1024"));
  }
  EXPECT_EQ(fettle_sgemm(0, 0, 1, 1, 1, 1, &a, 1, &b, 1, 0, &c, 1, 1024), FETTLE_OK);
  EXPECT_EQ(c, 6);
}

TEST(CApiFailures, TimesThatAreNoNumbersAreRefused) {
  const fettle::Model model = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
  fettle::Session session = DemoSession();
  for (const double time : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(fettle::Session::Create(model, {.kernel_ms = time}).code(), FETTLE_INVALID_ARGUMENT);
    fettle_gemm_options options = FETTLE_GEMM_OPTIONS_INIT;
    options.tune = "none";
    options.tune_seconds = time;
    fettle_gemm* gemm = nullptr;
    EXPECT_EQ(fettle_gemm_create(1, 1, 1, 1, 0, &options, &gemm), FETTLE_INVALID_ARGUMENT);
    EXPECT_EQ(session.Tune({.level = "none", .budget_seconds = time}).code(),
              FETTLE_INVALID_ARGUMENT);
  }
  // What no clock holds is no limit.
  EXPECT_TRUE(
      session.Tune({.level = "none", .budget_seconds = std::numeric_limits<double>::infinity()})
          .ok());
}

TEST(CApiFailures, WhatCannotBeWrittenIsAnIoError) {
  fettle::Session session = DemoSession();
  for (const char* place : {"/no/such/folder/tuned.fettle", "/dev/full"}) {
    const auto tuned = session.Tune({.level = "none", .package = place});
    EXPECT_EQ(tuned.code(), FETTLE_IO) << tuned.message();
    EXPECT_THAT(tuned.message(), HasSubstr(place));
  }
}

TEST(CApiFailures, ADatabaseThatKeepsNothingIsReportedBeforeAnythingIsMeasured) {
  const fettle::TestFolder folder;
  std::ofstream(folder.file("a file")) << "no folder";
  const std::string place = folder.file("a file") + "/database";
  fettle::Session session = DemoSession();
  const auto tuned = session.Tune({.level = "fast", .database = place.c_str()});
  EXPECT_EQ(tuned.code(), FETTLE_IO) << tuned.message();
  EXPECT_THAT(tuned.message(), HasSubstr("database: "));
  fettle::Tuner tuner = fettle::Tuner::Create("database").value();
  tuner.AddParameter("X", {1, 2}).value();
  tuner.SetOptions({.strategy = "full", .database = place}).value();
  int runs = 0;
  const auto run = [&](std::span<const int64_t>) {
    ++runs;
    return 1.0;
  };
  const auto refused = tuner.Run({.run = run});
  EXPECT_EQ(refused.code(), FETTLE_IO) << refused.message();
  EXPECT_EQ(runs, 0);
}

}  // namespace
