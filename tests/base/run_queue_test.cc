// Runs in their order, cancelled before and while they work, and queues that go while runs are in
// flight. What works here waits until the test lets it go on, so that each moment is met.
#include "base/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <optional>
#include <vector>

namespace fettle {
namespace {

using ::testing::ElementsAre;

/// Opened once, by any thread.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class RunQueueTest : public ::testing::Test {
 protected:
  std::shared_ptr<RunQueue::Run> Add(
      RunQueue::Work work, RunQueue::Tell tell = [](Status) {}) {
    return queue_->Add(std::move(work), std::move(tell), /*waits=*/true).value();
  }
  /// A run that works until `gate_` opens.
  std::shared_ptr<RunQueue::Run> AddHeld() {
    auto run = Add([this] {
      begun_.Open();
      gate_.Pass();
      return OkStatus();
    });
    begun_.Pass();
    return run;
  }

  std::mutex turn_;
  std::atomic<bool> stops_ = false;
  Gate begun_, gate_;
  std::optional<RunQueue> queue_{std::in_place, turn_, stops_, 4};
};

TEST_F(RunQueueTest, RunsWorkAndAreToldInTheirOrder) {
  std::vector<int> worked, told;  // by one thread alone
  std::shared_ptr<RunQueue::Run> last;
  for (int i = 0; i < 100; ++i) {
    last = Add(
        [&worked, i] {
          worked.push_back(i);
          return i % 3 == 0 ? Error(StatusCode::kNotFound, "{}", i) : OkStatus();
        },
        [&told, i](const Status& status) {
          EXPECT_EQ(status.ok(), i % 3 != 0);
          told.push_back(i);
        });
  }
  EXPECT_EQ(RunQueue::Wait(*last).code(), StatusCode::kNotFound);  // the 99th
  ASSERT_EQ(worked.size(), 100u);
  EXPECT_TRUE(std::is_sorted(worked.begin(), worked.end()));
  EXPECT_EQ(told, worked);
}

TEST_F(RunQueueTest, WhatWaitsNeverWorksOnceItIsCancelled) {
  const auto first = AddHeld();
  bool works = false;
  const auto second = Add([&] {
    works = true;
    return OkStatus();
  });
  const auto third = Add([] { return OkStatus(); });
  RunQueue::Cancel(*second);
  EXPECT_FALSE(stops_);
  gate_.Open();
  EXPECT_EQ(RunQueue::Wait(*second).code(), StatusCode::kCancelled);
  EXPECT_FALSE(works);
  EXPECT_TRUE(RunQueue::Wait(*first).ok());
  EXPECT_TRUE(RunQueue::Wait(*third).ok());
}

TEST_F(RunQueueTest, WhatWorksIsToldToStopAndLosesItsResult) {
  const auto first = AddHeld();
  const auto second =
      Add([&] { return stops_ ? Error(StatusCode::kInternal, "stops") : OkStatus(); });
  RunQueue::Cancel(*first);
  EXPECT_TRUE(stops_);
  gate_.Open();
  EXPECT_EQ(RunQueue::Wait(*first).code(), StatusCode::kCancelled);  // though it ended well
  EXPECT_TRUE(RunQueue::Wait(*second).ok());
  RunQueue::Cancel(*second);  // too late
  EXPECT_TRUE(RunQueue::Wait(*second).ok());
  EXPECT_FALSE(stops_);
}

TEST_F(RunQueueTest, SoManyAreInFlightAndNoMore) {
  const auto first = AddHeld();
  for (int i = 1; i < 4; ++i) Add([] { return OkStatus(); });
  const auto refused = queue_->Add([] { return OkStatus(); }, [](Status) {}, /*waits=*/false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kBusy);
  std::shared_ptr<RunQueue::Run> fifth;
  std::thread waits([&] { fifth = Add([] { return OkStatus(); }); });
  gate_.Open();
  waits.join();
  EXPECT_TRUE(RunQueue::Wait(*fifth).ok());
}

TEST_F(RunQueueTest, WhatIsToldMayAddButNeitherWaitsForRoomNorForItself) {
  std::vector<StatusCode> codes;
  std::shared_ptr<RunQueue::Run> later;
  Gate filled;
  const auto tell = [&](const Status&) {
    filled.Pass();
    codes.push_back(RunQueue::Wait(*later).code());
    codes.push_back(queue_->Add([] { return OkStatus(); }, [](Status) {}, true).status().code());
    const auto refused = queue_->Add([] { return OkStatus(); }, [](Status) {}, true);
    codes.push_back(refused.status().code());
  };
  const auto first = Add([] { return OkStatus(); }, tell);
  for (int i = 0; i < 3; ++i) later = Add([] { return OkStatus(); });
  filled.Open();
  EXPECT_TRUE(RunQueue::Wait(*first).ok());
  EXPECT_THAT(codes, ElementsAre(StatusCode::kBusy, StatusCode::kOk, StatusCode::kBusy));
}

TEST_F(RunQueueTest, AQueueThatGoesCancelsWhatWaitsAndWaitsForWhatWorks) {
  std::vector<StatusCode> told;
  const auto tell = [&](const Status& status) { told.push_back(status.code()); };
  Gate begun;
  Add(
      [&] {
        begun.Open();
        gate_.Pass();
        return OkStatus();
      },
      tell);
  bool works = false;
  for (int i = 0; i < 2; ++i)
    Add(
        [&] {
          works = true;
          return OkStatus();
        },
        tell);
  begun.Pass();
  std::thread opens([&] { gate_.Open(); });
  queue_.reset();
  opens.join();
  // The last two may have begun before the queue's end was known.
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0], StatusCode::kOk);
  EXPECT_EQ(works, told[1] == StatusCode::kOk || told[2] == StatusCode::kOk);
}

TEST_F(RunQueueTest, AQueueMayGoInWhatItTells) {
  std::vector<StatusCode> told;
  Gate filled;
  const auto first = Add([] { return OkStatus(); },
                         [&](const Status&) {
                           filled.Pass();
                           queue_.reset();
                           told.push_back(StatusCode::kOk);
                         });
  for (int i = 0; i < 2; ++i)
    Add([] { return OkStatus(); }, [&](const Status& status) { told.push_back(status.code()); });
  filled.Open();
  EXPECT_TRUE(RunQueue::Wait(*first).ok());
  EXPECT_THAT(told, ElementsAre(StatusCode::kCancelled, StatusCode::kCancelled, StatusCode::kOk));
}

}  // namespace
}  // namespace fettle
