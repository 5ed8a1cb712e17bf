// How a stream leaves the device to others: its window of commands and its cap on launches.
#include <gmock/gmock.h>

#include <numeric>

#include "tests/device/fake_opencl.h"
#include "tests/device/opencl_fixture.h"

namespace fettle {
namespace {

using testing::Each;
using testing::SizeIs;

constexpr double kMillisecond = 1e6;  // in nanoseconds

class Pacing : public testing::Test {
 protected:
  std::unique_ptr<OpenClStream> NewStream(const StreamOptions& options) {
    return OpenClStream::Create(device_, options).value();
  }
  void Launch(OpenClStream& stream, const WorkSizes& sizes, int depth = 1) {
    const auto kernel = device_->BuildKernel(ScaleProgram(), "scale").value();
    if (kernel_ == nullptr) kernel_ = kernel;
    ASSERT_TRUE(stream.Launch(*kernel_, sizes, {depth}).ok());
  }
  /// The longest command from number `first` on.
  double LongestMs(size_t first = 0) const {
    double longest = 0;
    for (size_t i = first; i < fake_.commands.size(); ++i)
      longest = std::max(longest, fake_.commands[i].ns / kMillisecond);
    return longest;
  }

  FakeOpenCl fake_;
  std::shared_ptr<OpenClDevice> device_ = fake_.Open();
  std::shared_ptr<OpenClKernel> kernel_;
};

TEST_F(Pacing, WindowKeepsAtMostSoManyCommandsUnfinished) {
  const auto stream = NewStream({.queue_window = 16});
  for (int i = 0; i < 100; ++i) Launch(*stream, {});
  EXPECT_EQ(fake_.most_unfinished, 16u);
  EXPECT_EQ(fake_.finishes, 0);
}

TEST_F(Pacing, WindowOfOneRunsOneAfterTheOther) {
  const auto stream = NewStream({.queue_window = 1});
  for (int i = 0; i < 5; ++i) Launch(*stream, {});
  EXPECT_EQ(fake_.most_unfinished, 1u);
}

TEST_F(Pacing, WithoutOptionsNothingWaitsAndNothingIsSplit) {
  const auto stream = NewStream({});
  fake_.ns_per_item = kMillisecond;
  for (int i = 0; i < 50; ++i) Launch(*stream, {.gws = {4, 4, 4}});
  EXPECT_EQ(fake_.most_unfinished, 50u);
  EXPECT_THAT(fake_.commands, SizeIs(50));
}

TEST_F(Pacing, CapSplitsTheLastAxisAtWholeGroups) {
  fake_.ns_per_item = kMillisecond / 100;  // 36 ms in all
  const auto stream = NewStream({.kernel_ms = 1});
  Launch(*stream, {.gws = {6, 599, 1}, .lws = {2, 4, 1}});
  EXPECT_LE(LongestMs(), 1.2);
  // The first row is measured group by group.
  size_t next = 4, groups = 0;
  for (; fake_.commands[groups].gws[0] < 6; ++groups) EXPECT_EQ(fake_.commands[groups].gws[1], 4u);
  EXPECT_EQ(groups, 2u);
  for (size_t i = groups; i < fake_.commands.size(); ++i) {
    const FakeOpenCl::Command& command = fake_.commands[i];
    EXPECT_EQ(command.offset, (std::array<size_t, 3>{0, next, 0}));
    EXPECT_EQ(command.gws[0], 6u);
    EXPECT_EQ(command.gws[1] % 4, 0u);
    next += command.gws[1];
  }
  EXPECT_EQ(next, 600u);
}

TEST_F(Pacing, RowsThatTakeTooLongAreSplitToo) {
  fake_.ns_per_item = kMillisecond / 400;  // 1024 items of a row: 2.6 ms, 64 of a group: 0.16
  const auto stream = NewStream({.kernel_ms = 1});
  const WorkSizes sizes{.gws = {1024, 3, 2}, .lws = {64, 1, 1}};
  for (int i = 0; i < 1000 / 6; ++i) Launch(*stream, sizes);
  EXPECT_LE(LongestMs(), 1.0);
  // Each item once, whole groups.
  const size_t before = fake_.commands.size();
  Launch(*stream, sizes);
  size_t items = 0;
  for (size_t i = before; i < fake_.commands.size(); ++i) {
    const FakeOpenCl::Command& command = fake_.commands[i];
    EXPECT_EQ(command.gws[0] % 64, 0u);
    items += command.gws[0] * command.gws[1] * command.gws[2];
  }
  EXPECT_EQ(items, 1024u * 3 * 2);
  EXPECT_LE(fake_.commands.size() - before, 6u * 5);  // rows in pieces of at most 0.75 ms
}

TEST_F(Pacing, CapHoldsFromTheFirstLaunchOn) {
  fake_.ns_per_item = kMillisecond / 10000;
  const auto unlimited = NewStream({});
  Launch(*unlimited, {.gws = {64, 32, 32}, .lws = {8, 1, 1}});
  EXPECT_GT(LongestMs(), 3);
  fake_.commands.clear();
  const auto stream = NewStream({.kernel_ms = 1});
  for (int i = 0; i < 3; ++i) Launch(*stream, {.gws = {64, 32, 32}, .lws = {8, 1, 1}});
  EXPECT_LE(LongestMs(), 1.2);
}

TEST_F(Pacing, LearnedKernelsAreSplitNoFurtherThanNeededAndNotWaitedFor) {
  fake_.ns_per_item = kMillisecond / 1000;
  const auto stream = NewStream({.kernel_ms = 1});
  for (int i = 0; i < 2; ++i) Launch(*stream, {.gws = {1, 3000, 1}, .lws = {1, 1, 1}});
  const size_t learning = fake_.commands.size();
  fake_.most_unfinished = 0;
  Launch(*stream, {.gws = {1, 3000, 1}, .lws = {1, 1, 1}});
  EXPECT_EQ(fake_.commands.size() - learning, 4u);  // 3 ms in pieces of 0.75
  EXPECT_GE(fake_.most_unfinished, 4u);
}

TEST_F(Pacing, ShortKernelsEndUpWhole) {
  fake_.ns_per_item = 10;
  const auto stream = NewStream({.kernel_ms = 1});
  for (int i = 0; i < 4; ++i) Launch(*stream, {.gws = {64, 64, 1}, .lws = {8, 8, 1}});
  EXPECT_EQ(fake_.commands.back().gws, (std::array<size_t, 3>{64, 64, 1}));
}

TEST_F(Pacing, ScalarArgumentsHaveTheirOwnPace) {
  fake_.ns_per_item = 10;
  const auto stream = NewStream({.kernel_ms = 1});
  for (int i = 0; i < 4; ++i) Launch(*stream, {.gws = {64, 64, 1}, .lws = {8, 8, 1}}, 1);
  fake_.ns_per_item = kMillisecond / 1000;  // deeper: 4 ms in all
  Launch(*stream, {.gws = {64, 64, 1}, .lws = {8, 8, 1}}, 1000);
  EXPECT_LE(LongestMs(), 1.2);
}

TEST_F(Pacing, SlowerDevicesAreNoticed) {
  fake_.ns_per_item = kMillisecond / 2000;
  const auto stream = NewStream({.kernel_ms = 1});
  for (int i = 0; i < 4; ++i) Launch(*stream, {.gws = {1, 4000, 1}, .lws = {1, 1, 1}});
  fake_.ns_per_item *= 2;  // clocks fell
  Launch(*stream, {.gws = {1, 4000, 1}, .lws = {1, 1, 1}});
  ASSERT_TRUE(stream->Synchronise().ok());
  const size_t before = fake_.commands.size();
  Launch(*stream, {.gws = {1, 4000, 1}, .lws = {1, 1, 1}});
  EXPECT_LE(LongestMs(before), 1.2);
}

TEST_F(Pacing, OneSlowPieceIsNoReasonToSplitFurther) {
  fake_.ns_per_item = kMillisecond / 1000;
  const auto stream = NewStream({.kernel_ms = 1});
  const WorkSizes sizes{.gws = {1, 3000, 1}, .lws = {1, 1, 1}};
  for (int i = 0; i < 4; ++i) Launch(*stream, sizes);
  ASSERT_TRUE(stream->Synchronise().ok());
  fake_.commands.back().ns *= 20;  // others had the device
  const size_t before = fake_.commands.size();
  Launch(*stream, sizes);
  EXPECT_EQ(fake_.commands.size() - before, 4u);
}

TEST_F(Pacing, ASlowFirstPieceIsForgottenWithinItsLaunch) {
  fake_.ns_per_item = 10;
  fake_.first_ns = 2 * kMillisecond;  // its code had to be loaded
  fake_.runs_at_once = true;
  const auto stream = NewStream({.kernel_ms = 1});
  Launch(*stream, {.gws = {1, 100'000, 1}, .lws = {1, 1, 1}});
  EXPECT_LT(fake_.commands.size(), 50u);
}

TEST_F(Pacing, WallTimeCountsWhereEventsSayNothing) {
  fake_.knows_times = false;
  const auto stream = NewStream({.kernel_ms = 1000});
  for (int i = 0; i < 4; ++i) Launch(*stream, {.gws = {64, 64, 1}, .lws = {8, 8, 1}});
  EXPECT_EQ(fake_.commands.back().gws, (std::array<size_t, 3>{64, 64, 1}));
}

TEST_F(Pacing, OfTheDeviceHoldsForStreamsWithoutOptions) {
  OpenClListing listing;
  listing.facts.name = "fake";
  device_ = OpenClDevice::Open(listing,
                               {.pacing = {.queue_window = 4, .kernel_ms = 1}, .api = &fake_.api()})
                .value();
  fake_.ns_per_item = kMillisecond / 1000;
  const std::unique_ptr<Stream> stream = device_->NewStream({}).value();
  for (int i = 0; i < 3; ++i)
    Launch(static_cast<OpenClStream&>(*stream), {.gws = {1, 4000, 1}, .lws = {1, 1, 1}});
  EXPECT_LE(LongestMs(), 1.2);
  EXPECT_LE(fake_.most_unfinished, 4u);
}

TEST_F(Pacing, TimedStreamsTellHowLongTheDeviceWorked) {
  fake_.ns_per_item = kMillisecond / 1000;
  const auto stream = NewStream({.kernel_ms = 1, .timed = true});
  for (int i = 0; i < 2; ++i) Launch(*stream, {.gws = {1, 3000, 1}, .lws = {1, 1, 1}});
  ASSERT_TRUE(stream->Synchronise().ok());
  EXPECT_EQ(stream->TakeBusyNs(), 6'000'000);
  Launch(*stream, {.gws = {5, 1, 1}});
  ASSERT_TRUE(stream->Synchronise().ok());
  EXPECT_EQ(stream->TakeBusyNs(), 5'000);
  EXPECT_EQ(stream->TakeBusyNs(), -1);
}

TEST_F(Pacing, TimesThatTheDriverDoesNotTellAreNone) {
  fake_.knows_times = false;
  const auto stream = NewStream({.timed = true});
  Launch(*stream, {.gws = {5, 1, 1}});
  ASSERT_TRUE(stream->Synchronise().ok());
  EXPECT_EQ(stream->TakeBusyNs(), -1);
}

TEST_F(Pacing, NothingIsLeftBehind) {
  {
    const auto stream = NewStream({.queue_window = 3, .kernel_ms = 1});
    for (int i = 0; i < 10; ++i) Launch(*stream, {.gws = {64, 64, 1}});
  }
  kernel_.reset();
  device_.reset();
  EXPECT_EQ(fake_.live_objects, 0);
}

using PacingOnADevice = OpenClTest;

TEST_F(PacingOnADevice, SplitLaunchesComputeTheSame) {
  const auto kernel = device_
                          ->BuildKernel({"grid",
                                         "__kernel void grid(__global int* out, int width) {\n"
                                         "  const int x = get_global_id(0), y = get_global_id(1);\n"
                                         "  if (x < width) out[y * width + x] += y * width + x;\n"
                                         "}\n",
                                         ""},
                                        "grid")
                          .value();
  constexpr int kWidth = 100, kHeight = 64;
  const auto buffer = NewBuffer(4 * kWidth * kHeight);
  std::vector<int> values(kWidth * kHeight), expected(kWidth * kHeight);
  std::iota(expected.begin(), expected.end(), 0);
  // A cap below any launch: every row of groups is a launch of its own.
  const auto stream = NewStream({.queue_window = 4, .kernel_ms = 1e-6});
  ASSERT_TRUE(stream->Write(*buffer, 0, values.data(), 4 * kWidth * kHeight).ok());
  ASSERT_TRUE(stream
                  ->Launch(*kernel, {.gws = {kWidth, kHeight, 1}, .lws = {8, 8, 1}},
                           {buffer->location(), kWidth})
                  .ok());
  ASSERT_TRUE(stream->Read(values.data(), *buffer, 0, 4 * kWidth * kHeight).ok());
  EXPECT_EQ(values, expected);
}

}  // namespace
}  // namespace fettle
