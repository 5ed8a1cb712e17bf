// Tuning while serving through libfettle.so alone: its ends, its errors, and requests beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <random>
#include <thread>

#include "fettle/fettle.hpp"
#include "tests/test_folder.h"

namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr double kLong = 500;

fettle::Tensor Grey(int64_t size, float value) {
  fettle::Tensor tensor = fettle::Tensor::Create(FETTLE_F32, {1, 3, size, size}).value();
  for (float& element : tensor.as<float>()) element = value;
  return tensor;
}

class Background : public ::testing::Test {
 protected:
  fettle::Session Create(const fettle::SessionOptions& options = {.threads = 1}) {
    return fettle::Session::Create(model_, options).value();
  }
  static void Infer(fettle::Session& session, int64_t size, float value) {
    auto outputs = session.Infer({{"picture", Grey(size, value)}}, {"enhanced"});
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    const fettle::Tensor enhanced = std::move(outputs).value()[0];
    EXPECT_THAT(enhanced.as<float>(), Each(FloatNear(value, 1e-5f)));
  }
  /// Asks for something now and then, so that what was found is taken.
  static void Finish(fettle::Session& session) {
    while (!session.WaitForBackground(0.01).ok()) Infer(session, 6, 0.5f);
  }
  fettle::Model model_ = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
};

TEST_F(Background, RequestsOfManyThreadsGoOnBesideIt) {
  fettle::Session session = Create({.threads = 2});
  session.TuneInBackground(/*budget_seconds=*/0, /*share=*/1, {.level = "fast"}).value();
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      const float value = 0.125f * static_cast<float>(client + 1);
      for (int i = client; !session.background().is_over; ++i) Infer(session, 6 + i % 2, value);
    });
  }
  for (std::thread& client : clients) client.join();
  const fettle::BackgroundState state = session.background();
  EXPECT_THAT(state.stage, AnyOf("tuned", "kept")) << state.reason;
  EXPECT_GT(state.measured, 0);
  EXPECT_GT(state.before_ms, 0);
  EXPECT_GT(state.after_ms, 0);
  EXPECT_NE(state.reason, "");
  Infer(session, 6, 0.25f);
}

TEST_F(Background, InputsThatAreSetNeedNoRun) {
  fettle::Session session = Create();
  EXPECT_EQ(session.background().stage, "none");
  EXPECT_TRUE(session.background().is_over);
  EXPECT_TRUE(session.WaitForBackground(0).ok());
  session.SetInput("picture", Grey(6, 0.5f)).value();
  session.TuneInBackground(0, 1, {.level = "fast"}).value();
  Finish(session);
  EXPECT_GT(session.background().measured, 0);
}

TEST_F(Background, WithoutInputsItWaitsForARunAndIsCancelled) {
  fettle::Session session = Create();
  session.TuneInBackground().value();
  EXPECT_EQ(session.WaitForBackground(0.05).code(), FETTLE_BUSY);
  EXPECT_EQ(session.background().stage, "waiting");
  EXPECT_EQ(session.TuneInBackground().code(), FETTLE_BUSY);
  EXPECT_EQ(session.Tune({.level = "none"}).code(), FETTLE_BUSY);
  session.CancelBackground();
  session.WaitForBackground(kLong).value();
  EXPECT_EQ(session.background().stage, "cancelled");
  // Then another may begin.
  session.SetInput("picture", Grey(6, 0.5f)).value();
  session.TuneInBackground(0, 1, {.level = "none"}).value();
  Finish(session);
}

TEST_F(Background, ASessionIsFreedWhileItRuns) {
  std::mt19937 random(1);
  for (int i = 0; i < 12; ++i) {
    fettle::Session session = Create();
    session.TuneInBackground(0, i % 2 == 0 ? 0 : 1).value();
    Infer(session, 6, 0.5f);
    (void)session.RunAsync({{"picture", Grey(6, 0.5f)}}, {"enhanced"}).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
  }
}

TEST_F(Background, ADatabaseThatCannotBeWrittenCostsOneLine) {
  const fettle::TestFolder folder;
  const std::string file = folder.file("file");
  std::ofstream(file) << "no folder";
  std::atomic<int> lines = 0;
  fettle_set_log(
      [](fettle_log_level, const char* line, void* user) {
        if (std::string(line).find("kept in memory only") != std::string::npos)
          ++*static_cast<std::atomic<int>*>(user);
      },
      &lines, FETTLE_LOG_WARN);
  fettle::Session session = Create();
  session.SetInput("picture", Grey(6, 0.5f)).value();
  session.TuneInBackground(0, 1, {.level = "fast", .database = file.c_str()}).value();
  Finish(session);
  fettle_set_log(nullptr, nullptr, FETTLE_LOG_ERROR);
  EXPECT_EQ(lines, 1);
  EXPECT_THAT(session.background().stage, AnyOf("tuned", "kept"));
}

TEST_F(Background, ADatabaseKeepsWhatItMeasured) {
  const fettle::TestFolder folder;
  int64_t measured[2] = {};
  for (int64_t& count : measured) {
    fettle::Session session = Create();
    session.SetInput("picture", Grey(6, 0.5f)).value();
    session.TuneInBackground(0, 1, {.level = "fast", .database = folder.path().c_str()}).value();
    Finish(session);
    count = session.background().measured;
  }
  EXPECT_GT(measured[0], 0);
  EXPECT_LT(measured[1], measured[0]);
}

TEST_F(Background, WhatIsAskedForIsChecked) {
  fettle::Session session = Create();
  for (const double share : {-0.1, 1.5, std::nan("")}) {
    const auto refused = session.TuneInBackground(0, share);
    EXPECT_EQ(refused.code(), FETTLE_INVALID_ARGUMENT);
    EXPECT_THAT(refused.message(), HasSubstr("share: expected 0 (idle time only) to 1"));
  }
  EXPECT_EQ(session.TuneInBackground(-1).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(session.TuneInBackground(0, 0, {.level = "hard"}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(Create({.reference_only = true}).TuneInBackground().code(), FETTLE_UNSUPPORTED);
  EXPECT_EQ(session.WaitForBackground(-1).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_session_tune_in_background(nullptr, nullptr), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_session_background(session.get(), nullptr), FETTLE_INVALID_ARGUMENT);
  fettle_session_cancel_background(nullptr);
  session.CancelBackground();
  EXPECT_EQ(session.background().stage, "none");
}

}  // namespace
