// The recorded spaces of ../shared, as far as they are there.
#include "jobs/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "tests/test_folder.h"
#include "tuner/search/search.h"

namespace fettle::tools {
namespace {

const std::string kFolder = FETTLE_SOURCE_DIR "/../shared/data/tuning/";

struct Known {
  std::string file;
  size_t configurations, failed;
  double best_ms;
};

class RecordedSpace : public ::testing::TestWithParam<Known> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder + GetParam().file))
      GTEST_SKIP() << kFolder << GetParam().file << " is not there";
  }
};

INSTANTIATE_TEST_SUITE_P(Replay, RecordedSpace,
                         ::testing::Values(Known{"convolution_A100_T4.json.gz", 4362, 161, 0.5536},
                                           Known{"convolution_A6000_T4.json.gz", 4362, 473, 0.6030},
                                           Known{"convolution_W6600_T4.json.gz", 4362, 0, 1.7276}),
                         [](const auto& info) {
                           return info.param.file.substr(0, info.param.file.find('.'));
                         });

TEST_P(RecordedSpace, IsReadWhole) {
  const Recording recording = ReadRecording(kFolder + GetParam().file).value();
  const Replay replay = Replay::Create(recording).value();
  EXPECT_EQ(replay.size(), GetParam().configurations);
  EXPECT_NEAR(replay.best_ms(), GetParam().best_ms, 1e-4);
  const auto failed = std::count_if(recording.rows.begin(), recording.rows.end(),
                                    [](const Recording::Row& row) { return !row.ms; });
  EXPECT_EQ(static_cast<size_t>(failed), GetParam().failed);
}

/// The figures are those of docs/laboratory/search.md; this many runs only tell whether the search
/// works.
TEST_P(RecordedSpace, LocalSearchComesNearTheOptimum) {
  const Replay replay = Replay::Create(ReadRecording(kFolder + GetParam().file).value()).value();
  std::vector<double> shares;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto search = tuner::Search::Create(replay.space(), {.seed = seed, .max_evaluations = 64});
    while (const auto point = (*search)->Ask()) (*search)->Tell(replay.Measure(*point));
    shares.push_back(replay.best_ms() / *(*search)->best()->ms);
  }
  std::sort(shares.begin(), shares.end());
  EXPECT_GE(shares[2], 0.75);
}

TEST(Replay, PrintsWhatItReads) {
  const Recording recording = {{"A", "mode"},
                               {{{int64_t{1}, std::string("x")}, 2.5},
                                {{int64_t{2}, std::string("x")}, std::nullopt},
                                {{int64_t{1}, std::string("y")}, 0.1}}};
  const Replay replay = Replay::Create(recording).value();
  EXPECT_EQ(replay.size(), 3u);
  EXPECT_EQ(replay.best_ms(), 0.1);
  std::vector<tuner::Evaluation> evaluations;
  for (uint64_t i = 0; i < replay.space().combinations(); ++i) {
    const tuner::Point point = replay.space().PointAt(i);
    if (replay.space().Valid(point)) evaluations.push_back({point, replay.Measure(point)});
  }
  ASSERT_EQ(evaluations.size(), 3u);
  const TestFolder folder;
  const std::string path = folder.file("space.json");
  ASSERT_TRUE(WriteTextFile(path, PrintT4(replay.space(), evaluations)).ok());
  const Replay again = Replay::Create(ReadRecording(path).value()).value();
  for (const tuner::Evaluation& evaluation : evaluations)
    EXPECT_EQ(again.Measure(evaluation.point), evaluation.ms);
}

}  // namespace
}  // namespace fettle::tools
