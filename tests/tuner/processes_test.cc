// Several processes with one database, some of them killed.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "tests/tuner/rows.h"
#include "tuner/store/database.h"
#include "tuner/store/maintenance.h"

namespace fettle::tuner {
namespace {

using testing::IsEmpty;

/// Runs `body` in a process of its own, which has opened no database yet.
pid_t Spawn(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}

int ExitOf(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(ProcessesTest, EightWritersLoseNothing) {
  constexpr int kWriters = 8, kRowsEach = 100, kShared = 10;
  const TestFolder folder;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(Spawn([&] {
      const Warnings warnings;
      const auto store = OpenStore(DatabaseIn(folder));
      for (int i = 0; i < kRowsEach; ++i) {
        const int index = writer * kRowsEach + i;
        store->BeginFlight(KeyOf(index));
        store->Put(KeyOf(index), RowOf(index));
        store->EndFlight(KeyOf(index));
        store->Put(KeyOf(10'000 + i % kShared), RowOf(10'000 + i % kShared));
        store->PutDecision(fmt::format("graph {}", index), fmt::format("text {}", index));
        ExpectRow(store->Find(KeyOf(index)), RowOf(index));
      }
      EXPECT_EQ(store->trouble(), "");
      EXPECT_THAT(warnings.lines(), IsEmpty());
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(ExitOf(writer), 0);
  const auto store = OpenStore(DatabaseIn(folder));
  for (int index = 0; index < kWriters * kRowsEach; ++index) {
    ExpectRow(store->Find(KeyOf(index)), RowOf(index));
    EXPECT_EQ(*store->FindDecision(fmt::format("graph {}", index)), fmt::format("text {}", index));
  }
  const auto database = Database::Open(DatabaseIn(folder), Database::Access::kWrite);
  EXPECT_THAT(*Verify(**database), IsEmpty());
  const Result<DatabaseSummary> summary = SummariseDatabase(**database);
  EXPECT_EQ(summary->row_count(), kWriters * kRowsEach + kShared);
  EXPECT_EQ(summary->flights, 0);
}

TEST(ProcessesTest, EightSetADamagedFileAsideOnce) {
  const TestFolder folder;
  std::vector<pid_t> writers;
  OpenStore(DatabaseIn(folder));
  std::filesystem::resize_file(DatabaseIn(folder), 5000);
  for (int writer = 0; writer < 8; ++writer) {
    writers.push_back(Spawn([&] {
      const auto store = OpenStore(DatabaseIn(folder));
      for (int i = 0; i < 20; ++i) store->Put(KeyOf(writer * 20 + i), RowOf(i));
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(ExitOf(writer), 0);
  const auto store = OpenStore(DatabaseIn(folder));
  for (int i = 0; i < 160; ++i) ExpectRow(store->Find(KeyOf(i)), RowOf(i % 20));
  EXPECT_TRUE(std::filesystem::exists(folder.file("tuning.db.aside")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("tuning.db.aside2")));
}

/// How far a writer that may be killed at any moment has come.
struct Progress {
  std::atomic<int> begun{0}, put{0}, ended{0};
};

/// Memory that a child shares with the test.
class SharedProgress {
 public:
  SharedProgress()
      : progress_(new (::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress) {}
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  Progress* operator->() { return progress_; }

 private:
  Progress* progress_;
};

/// Writes rows from `from` on until it is killed.
void WriteForever(const std::string& path, int from, SharedProgress& progress) {
  const auto store = OpenStore(path);
  for (int i = from;; ++i) {
    store->BeginFlight(KeyOf(i));
    progress->begun = i + 1;
    ::usleep(200);  // what the flight is for
    store->Put(KeyOf(i), RowOf(i));
    progress->put = i + 1;
    store->EndFlight(KeyOf(i));
    progress->ended = i + 1;
  }
}

TEST(ProcessesTest, KilledAnywhereOnlyTheRowInFlightIsLost) {
  const int kills = std::getenv("FETTLE_FULL_TESTS") != nullptr ? 200 : 25;
  const TestFolder folder;
  SharedProgress progress;
  std::mt19937 random(3);
  int written = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const int from = progress->begun + 1;
    progress->begun = progress->put = progress->ended = from;
    const pid_t writer = Spawn([&] { WriteForever(DatabaseIn(folder), from, progress); });
    // Every other writer gets as far as writing, the others die while they open the database.
    while (kill % 2 == 1 && progress->put == from) ::usleep(100);
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    ::kill(writer, SIGKILL);
    ASSERT_EQ(ExitOf(writer), 128 + SIGKILL);
    const Warnings warnings;
    const auto store = OpenStore(DatabaseIn(folder));
    EXPECT_EQ(store->trouble(), "");
    for (int i = from; i < progress->put; ++i) ExpectRow(store->Find(KeyOf(i)), RowOf(i));
    written += progress->put - from;
    const Result<Row> last = store->Find(KeyOf(progress->put));
    if (progress->begun > progress->put) {
      // It was in flight; whether the row came in or not is a matter of microseconds.
      ASSERT_TRUE(last.ok());
      if (last->status == Row::Status::kCrashed) {
        EXPECT_THAT(last->reason, testing::HasSubstr("died"));
      } else {
        ExpectRow(last, RowOf(progress->put));
      }
    }
    EXPECT_THAT(warnings.lines(), IsEmpty());
  }
  EXPECT_GT(written, 0);
  const auto database = Database::Open(DatabaseIn(folder), Database::Access::kWrite);
  EXPECT_THAT(*Verify(**database), IsEmpty());
}

TEST(ProcessesTest, TheFlightOfADeadProcessIsACrashForStoresThatAreOpen) {
  const TestFolder folder;
  SharedProgress progress;
  const auto wait_for = [](std::atomic<int>& stage) {
    while (stage == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  // Before the store is opened here: a connection does not survive a fork.
  const pid_t other = Spawn([&] {
    wait_for(progress->begun);
    const auto store = OpenStore(DatabaseIn(folder));
    store->BeginFlight(KeyOf(1));
    progress->put = 1;
    ::pause();
  });
  const auto store = OpenStore(DatabaseIn(folder));
  progress->begun = 1;
  wait_for(progress->put);
  EXPECT_EQ(store->Find(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(OpenStore(DatabaseIn(folder))->Find(KeyOf(1)).ok());
  ::kill(other, SIGKILL);
  EXPECT_EQ(ExitOf(other), 128 + SIGKILL);
  const Result<Row> row = store->Find(KeyOf(1));
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->status, Row::Status::kCrashed);
  EXPECT_EQ(row->samples, 1);
}

TEST(ProcessesTest, CrashesOfOneCandidateAreCounted) {
  const TestFolder folder;
  for (int crashes = 1; crashes <= 2; ++crashes) {
    const pid_t other = Spawn([&] {
      OpenStore(DatabaseIn(folder))->BeginFlight(KeyOf(1));
      ::kill(::getpid(), SIGKILL);
    });
    EXPECT_EQ(ExitOf(other), 128 + SIGKILL);
    const Result<Row> row = OpenStore(DatabaseIn(folder))->Find(KeyOf(1));
    ASSERT_TRUE(row.ok());
    EXPECT_EQ(row->status, Row::Status::kCrashed);
    EXPECT_EQ(row->samples, crashes);
  }
}

}  // namespace
}  // namespace fettle::tuner
