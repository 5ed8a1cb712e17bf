#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/subnormals.h"
#include "device/cpu/lane_share.h"

namespace fettle {
namespace {

TEST(LaneShare, PartsOfACallAreClaimedOnce) {
  LaneShare share;
  for (uint64_t call : {1, 2, 7}) {  // nothing is reset, and calls for fewer lanes pass it over
    for (int part = 0; part < 3; ++part) EXPECT_EQ(share.Claim(call, 3), part);
    EXPECT_EQ(share.Claim(call, 3), -1);
  }
  for (int part = 0; part < LaneShare::kMostParts; ++part)
    ASSERT_EQ(share.Claim(8, LaneShare::kMostParts), part);
  EXPECT_EQ(share.Claim(8, LaneShare::kMostParts), -1);
}

TEST(LaneShare, ACallIsOverWhenItsWorkerLeftOrCanNoLongerJoin) {
  LaneShare share;
  ASSERT_TRUE(share.Join(1));
  EXPECT_EQ(share.Claim(1, 1), 0);
  EXPECT_FALSE(share.IsOver(1));
  share.Leave(1);
  EXPECT_TRUE(share.IsOver(1));
  EXPECT_EQ(share.Claim(2, 2), 0);
  EXPECT_TRUE(share.Join(2));  // others have begun
  EXPECT_EQ(share.Claim(2, 2), 1);
  EXPECT_FALSE(share.IsOver(2));
  share.Leave(2);
  EXPECT_EQ(share.Claim(3, 1), 0);
  EXPECT_FALSE(share.Join(3));
  EXPECT_TRUE(share.IsOver(3));
  EXPECT_FALSE(share.Join(2)) << "a call before";
}

TEST(ThreadPool, SharesOfMoreTasksThanPartsAreRunWhole) {
  ThreadPool pool(3);
  const int64_t tasks = 3 * int64_t{5} * LaneShare::kMostParts + 2;
  std::vector<std::atomic<int>> hits(static_cast<size_t>(tasks));
  pool.ParallelFor(tasks, 3, [&](int64_t i, int) { ++hits[static_cast<size_t>(i)]; });
  EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](const auto& hit) { return hit == 1; }));
}

TEST(ThreadPool, MoreCallersThanPostsGetTheirAnswers) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 7; ++c) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat)
        pool.ParallelFor(9, 2 + repeat % 3, [&](int64_t i, int) { sum += i; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 7 * 200 * 36);
}

TEST(ThreadPool, RunsEachTaskOnce) {
  ThreadPool pool(4);
  for (int64_t tasks : {0, 1, 2, 3, 7, 1000}) {
    for (int threads : {1, 2, 3, 4, 9}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(tasks));
      pool.ParallelFor(tasks, threads, [&](int64_t i, int) { ++hits[static_cast<size_t>(i)]; });
      for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1) << tasks << " tasks, " << threads;
    }
  }
}

TEST(ThreadPool, LanesAreInRangeAndExclusive) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int threads = 1 + repeat % 4;
    std::vector<int> unguarded(4, 0);  // a data race here is a lane that runs two tasks at once
    std::atomic<bool> in_range = true;
    pool.ParallelFor(64, threads, [&](int64_t, int lane) {
      if (lane < 0 || lane >= threads) in_range = false;
      ++unguarded[static_cast<size_t>(lane)];
    });
    EXPECT_TRUE(in_range);
    EXPECT_EQ(unguarded[0] + unguarded[1] + unguarded[2] + unguarded[3], 64);
  }
}

TEST(ThreadPool, ResultsOfTasksAreVisibleToTheCaller) {
  ThreadPool pool(3);
  std::vector<int64_t> squares(257);
  for (int64_t round = 1; round < 50; ++round) {
    pool.ParallelFor(257, 3,
                     [&](int64_t i, int) { squares[static_cast<size_t>(i)] = i * i * round; });
    for (int64_t i = 0; i < 257; ++i) ASSERT_EQ(squares[static_cast<size_t>(i)], i * i * round);
  }
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<int64_t> sums(4, 0);
  std::vector<std::thread> callers;
  for (size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        std::atomic<int64_t> sum = 0;
        pool.ParallelFor(20, 3, [&](int64_t i, int) { sum += i; });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int64_t sum : sums) EXPECT_EQ(sum, 300 * 190);
}

TEST(ThreadPool, LanesTreatSubnormalsAsTheCallerDoes) {
  ThreadPool pool(3);
  for (const Subnormals callers : {Subnormals::kFlush, Subnormals::kKeep, Subnormals::kFlush}) {
    const SubnormalScope scope(callers);
    const Subnormals want = CurrentSubnormals();
    std::atomic<int> arrived = 0, equal = 0;
    // Each task waits for the other two: all three lanes must come.
    pool.ParallelFor(3, 3, [&](int64_t, int) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
      if (CurrentSubnormals() == want) ++equal;
    });
    EXPECT_EQ(equal, 3);
  }
}

TEST(ThreadPool, NestedCallsStayOnTheirLane) {
  ThreadPool pool(4);
  std::atomic<int> inner = 0;
  std::atomic<bool> same_thread = true;
  pool.ParallelFor(8, 4, [&](int64_t, int) {
    const auto self = std::this_thread::get_id();
    pool.ParallelFor(5, 4, [&](int64_t, int lane) {
      if (lane != 0 || std::this_thread::get_id() != self) same_thread = false;
      ++inner;
    });
  });
  EXPECT_EQ(inner, 40);
  EXPECT_TRUE(same_thread);
}

TEST(ThreadPool, LanesBeginWithNeighbouringTasksOfTheirOwn) {
  constexpr int64_t kLanes = 3, kTasks = 11;  // shares of 4, 4 and 3
  ThreadPool pool(kLanes);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int64_t> first(kLanes, -1);
    std::atomic<int> arrived = 0;
    pool.ParallelFor(kTasks, kLanes, [&](int64_t i, int lane) {
      int64_t& begins = first[static_cast<size_t>(lane)];
      if (begins >= 0) return;
      begins = i;
      // No lane goes on before all have begun.
      ++arrived;
      while (arrived < kLanes) std::this_thread::yield();
    });
    EXPECT_EQ(first, (std::vector<int64_t>{0, 4, 8}));
  }
}

TEST(ThreadPool, ALaneThatStallsHoldsUpOnlyItsOwnTask) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  pool.ParallelFor(100, 2, [&](int64_t i, int) {
    // Task 0 waits until every other task has run: only dynamic claiming can get there.
    if (i == 0) {
      while (done < 99) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 100);
}

TEST(ThreadPool, WakesAfterSleeping) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived = 0;
    // Each task waits for the other two: all three lanes must come.
    pool.ParallelFor(3, 3, [&](int64_t, int) {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 3);
  }
}

TEST(ThreadPool, IdleWorkersBurnNoProcessorTime) {
  ThreadPool pool(8);
  pool.ParallelFor(64, 8, [](int64_t, int) {});
  const auto processor_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int64_t begin = processor_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // Seven spinning workers would burn at least the 200 ms of one core.
  EXPECT_LT(processor_ns() - begin, 20'000'000);
}

TEST(ThreadPool, StartsAndStopsIdleOrBusy) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    ThreadPool pool(1 + repeat % 4);
    EXPECT_EQ(pool.threads(), 1 + repeat % 4);
    if (repeat % 2 == 0) pool.ParallelFor(3, 4, [](int64_t, int) {});
  }
}

}  // namespace
}  // namespace fettle
