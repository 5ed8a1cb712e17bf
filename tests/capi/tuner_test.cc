// The tuner of the C and C++ interfaces, through libfettle.so alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fettle/fettle.hpp"
#include "tests/test_folder.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Values = std::span<const int64_t>;

/// Tiles and vectors; the fastest valid one is TILE 16, VECTOR 4 with 1 ms.
double Time(Values values) {
  return 1 + std::abs(std::log2(static_cast<double>(values[0]) / 16)) +
         2 * std::abs(std::log2(static_cast<double>(values[1]) / 4));
}

fettle::Tuner MakeTuner(const fettle::TunerOptions& options) {
  fettle::Tuner tuner = fettle::Tuner::Create("test").value();
  tuner.AddParameter("TILE", {4, 8, 16, 32, 64}).value();
  tuner.AddParameter("VECTOR", {1, 2, 4, 8}).value();
  tuner.AddConstraint("TILE % (2 * VECTOR) == 0").value();
  tuner.SetOptions(options).value();
  return tuner;
}

/// Configurations that meet the constraint.
constexpr int64_t kValid = 17;

TEST(CApiTuner, FindsTheBestWithEveryStrategy) {
  for (const char* strategy : {"local", "portfolio", "random", "full"}) {
    fettle::Tuner tuner = MakeTuner({.strategy = strategy, .max_evaluations = 100});
    tuner.Run({.run = Time}).value();
    const fettle::Tuned best = tuner.Best().value();
    EXPECT_THAT(best.values, ElementsAre(16, 4)) << strategy;
    EXPECT_EQ(best.ms, 1);
    EXPECT_EQ(tuner.state().evaluations, kValid);
    EXPECT_EQ(tuner.evaluations().size(), static_cast<size_t>(kValid));
  }
}

TEST(CApiTuner, AsksOneStepAtATime) {
  fettle::Tuner tuner = MakeTuner({.max_evaluations = 6});
  EXPECT_EQ(tuner.Best().code(), FETTLE_NOT_FOUND);
  EXPECT_EQ(tuner.Tell(1).code(), FETTLE_INVALID_ARGUMENT);
  for (int step = 0; step < 6; ++step) {
    const std::vector<int64_t> values = tuner.Ask().value();
    EXPECT_EQ(tuner.Ask().value(), values);
    tuner.Tell(step == 0 ? 0 : Time(values)).value();
  }
  EXPECT_EQ(tuner.Ask().code(), FETTLE_NOT_FOUND);
  EXPECT_EQ(tuner.state().evaluations, 6);
  EXPECT_EQ(tuner.state().failed, 1);
  EXPECT_EQ(tuner.state().best_ms, tuner.Best().value().ms);
}

TEST(CApiTuner, WrongAndFailedNeverWin) {
  fettle::Tuner tuner = MakeTuner({.strategy = "full"});
  const auto run = [](Values values) -> std::optional<double> {
    if (values[0] == 64) return std::nullopt;
    if (values[0] == 32) return NAN;
    return values[0] == 16 ? 0.001 : Time(values);
  };
  const auto check = [](Values values) { return values[0] != 16; };
  tuner.Run({.run = run, .check = check}).value();
  EXPECT_LT(tuner.Best().value().values[0], 16);
  EXPECT_EQ(tuner.state().failed, 12);
}

TEST(CApiTuner, KnownConfigurationsComeFirst) {
  fettle::Tuner tuner = MakeTuner({.max_evaluations = 2});
  const std::vector<int64_t> good = {32, 4}, unknown = {32, 5}, invalid = {4, 4};
  tuner.AddKnown(invalid).value();
  tuner.AddKnown(good).value();
  EXPECT_THAT(tuner.AddKnown(unknown).message(), HasSubstr("'VECTOR' has no value 5"));
  EXPECT_EQ(tuner.Ask().value(), good);
}

TEST(CApiTuner, FunctionsConstrainToo) {
  fettle::Tuner tuner = MakeTuner({.strategy = "full"});
  tuner.SetConstraint([](Values values) { return values[1] == 2; }).value();
  fettle::Tuner moved = std::move(tuner);
  moved.Run({.run = Time}).value();
  EXPECT_THAT(moved.Best().value().values, ElementsAre(16, 2));
  EXPECT_EQ(moved.state().evaluations, 5);
}

TEST(CApiTuner, CancelsAndGoesOn) {
  fettle::Tuner tuner = MakeTuner({.strategy = "full"});
  const auto stop_at_four = [](const fettle_tuner_state& state) { return state.evaluations != 4; };
  EXPECT_EQ(tuner.Run({.run = Time, .progress = stop_at_four}).code(), FETTLE_CANCELLED);
  EXPECT_EQ(tuner.state().evaluations, 4);
  std::thread([&] { tuner.Cancel(); }).join();
  EXPECT_EQ(tuner.Run({.run = Time}).code(), FETTLE_CANCELLED);
  EXPECT_EQ(tuner.state().evaluations, 4);
  tuner.Run({.run = Time}).value();
  EXPECT_EQ(tuner.state().evaluations, kValid);
}

TEST(CApiTuner, DatabaseAnswersWhatWasMeasured) {
  const fettle::TestFolder folder;
  const std::string path = folder.file("tuning.db");
  int runs = 0;
  const auto run = [&](Values values) -> std::optional<double> {
    ++runs;
    return values[1] == 8 ? std::nullopt : std::optional(Time(values));
  };
  const auto tune = [&](fettle::TunerOptions options) {
    options.database = path;
    fettle::Tuner tuner = MakeTuner(options);
    tuner.Run({.run = run}).value();
    EXPECT_THAT(tuner.Best().value().values, ElementsAre(16, 4));
    return tuner.state().reused;
  };
  EXPECT_EQ(tune({.strategy = "full", .version = "1"}), 0);
  EXPECT_EQ(runs, kValid);
  EXPECT_EQ(tune({.strategy = "local", .max_evaluations = kValid, .version = "1"}), kValid);
  EXPECT_EQ(runs, kValid);
  // Another version measures again, and starts from the best that was known.
  EXPECT_EQ(tune({.max_evaluations = 1, .version = "2"}), 0);
  EXPECT_EQ(runs, kValid + 1);
}

TEST(CApiTuner, EqualSeedsAreEqualSearches) {
  const auto search = [](uint64_t seed) {
    fettle::Tuner tuner = MakeTuner({.seed = seed, .max_evaluations = 9});
    tuner.Run({.run = Time}).value();
    std::vector<std::vector<int64_t>> order;
    for (const fettle::Tuned& one : tuner.evaluations()) order.push_back(one.values);
    return order;
  };
  EXPECT_EQ(search(3), search(3));
  EXPECT_NE(search(3), search(4));
}

TEST(CApiTuner, RefusesMisuse) {
  fettle::Tuner tuner = MakeTuner({});
  EXPECT_THAT(tuner.Run({.run = Time}).message(), HasSubstr("no budget"));
  EXPECT_EQ(tuner.Run({}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(tuner.AddConstraint("exec('x')").message(), HasSubstr("'exec' is not a parameter"));
  EXPECT_THAT(tuner.AddParameter("TILE", {1}).message(), HasSubstr("'TILE' is listed twice"));
  EXPECT_THAT(tuner.AddParameter("NONE", {}).message(), HasSubstr("has no values"));
  EXPECT_EQ(tuner.SetOptions({.strategy = "magic"}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(tuner.SetOptions({.max_evaluations = -1}).code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(tuner.SetOptions({.max_seconds = NAN}).code(), FETTLE_INVALID_ARGUMENT);
  int64_t one = 0;
  EXPECT_EQ(fettle_tuner_ask(tuner.get(), &one, 1), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tuner_ask(tuner.get(), nullptr, 2), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_tuner_create(nullptr, nullptr), FETTLE_INVALID_ARGUMENT);
  fettle_tuner_free(nullptr);
  fettle_tuner_cancel(nullptr);
  EXPECT_TRUE(tuner.Ask().ok());
  EXPECT_THAT(tuner.AddParameter("LATE", {1}).message(), HasSubstr("has begun"));
  fettle::Tuner empty = fettle::Tuner::Create("empty").value();
  EXPECT_THAT(empty.Ask().message(), HasSubstr("at least one"));
}

TEST(CApiTuner, ExceptionsOfCallbacksEndTheRunAsFailures) {
  fettle::Tuner tuner = MakeTuner({.strategy = "full"});
  bool thrown = false;
  const auto run = [&](Values values) -> std::optional<double> {
    if (!std::exchange(thrown, true)) throw std::runtime_error("out of luck");
    return Time(values);
  };
  const auto result = tuner.Run({.run = run});
  EXPECT_EQ(result.code(), FETTLE_INTERNAL);
  EXPECT_THAT(result.message(), HasSubstr("out of luck"));
  tuner.Run({.run = run}).value();
  EXPECT_EQ(tuner.state().evaluations, kValid);
}

}  // namespace
