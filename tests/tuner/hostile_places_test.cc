// Whatever is where the database should be: one warning, and measuring goes on.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "tests/tuner/rows.h"
#include "tuner/store/database_file.h"
#include "tuner/store/schema.h"
#include "tuner/store/sqlite.h"

namespace fettle::tuner {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Uses the store as a tuning does; the rows must be there again as long as it lives.
void Use(Store& store) {
  store.BeginFlight(KeyOf(1));
  store.Put(KeyOf(1), RowOf(1));
  store.EndFlight(KeyOf(1));
  ExpectRow(store.Find(KeyOf(1)), RowOf(1));
  store.PutDecision("graph", "text");
  const Result<std::string> decision = store.FindDecision("graph");
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(*decision, "text");
  EXPECT_FALSE(store.Find(KeyOf(2)).ok());
}

/// One warning that says `text`, and in trouble() too.
void ExpectTrouble(const Store& store, const Warnings& warnings, const std::string& text) {
  EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr(text)));
  EXPECT_THAT(store.trouble(), HasSubstr(text));
  EXPECT_EQ(store.trouble().find('\n'), std::string::npos);
}

/// Opens, uses and opens again: what is in the way is aside, and the new database keeps its rows.
void ExpectSetAside(const TestFolder& folder, const std::string& text) {
  {
    const Warnings warnings;
    const auto store = OpenStore(DatabaseIn(folder));
    Use(*store);
    ExpectTrouble(*store, warnings, text);
  }
  EXPECT_NE(fs::symlink_status(folder.file("tuning.db.aside")).type(), fs::file_type::not_found);
  const Warnings warnings;
  ExpectRow(OpenStore(DatabaseIn(folder))->Find(KeyOf(1)), RowOf(1));
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

/// Opens and uses; rows are kept as long as the store lives.
void ExpectInMemory(const std::string& path, const std::string& text) {
  const Warnings warnings;
  const auto store = OpenStore(path);
  Use(*store);
  ExpectTrouble(*store, warnings, text);
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(HostilePlacesTest, AnyFile) {
  const TestFolder folder;
  WriteFile(DatabaseIn(folder), std::string(10'000, 'x'));
  ExpectSetAside(folder, "not a database");
}

TEST(HostilePlacesTest, AnEmptyFileIsANewDatabase) {
  const TestFolder folder;
  WriteFile(DatabaseIn(folder), "");
  const Warnings warnings;
  Use(*OpenStore(DatabaseIn(folder)));
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

TEST(HostilePlacesTest, ADatabaseOfAnotherProgram) {
  const TestFolder folder;
  {
    const auto other =
        sqlite::Connection::Open(DatabaseIn(folder), sqlite::Connection::Access::kWrite);
    ASSERT_TRUE((*other)->Execute("CREATE TABLE rows (problem TEXT)").ok());
  }
  ExpectSetAside(folder, "not a tuning database");
}

TEST(HostilePlacesTest, ADatabaseWithOtherTables) {
  const TestFolder folder;
  OpenStore(DatabaseIn(folder));
  {
    const auto other =
        sqlite::Connection::Open(DatabaseIn(folder), sqlite::Connection::Access::kWrite);
    ASSERT_TRUE((*other)
                    ->Execute("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END")
                    .ok());
  }
  ExpectSetAside(folder, "damaged");
}

TEST(HostilePlacesTest, ANewerDatabaseIsLeftAlone) {
  const TestFolder folder;
  OpenStore(DatabaseIn(folder))->Put(KeyOf(2), RowOf(2));
  {
    const auto newer =
        sqlite::Connection::Open(DatabaseIn(folder), sqlite::Connection::Access::kWrite);
    ASSERT_TRUE((*newer)->Execute("CREATE TABLE more (x); PRAGMA user_version=2").ok());
  }
  ExpectInMemory(DatabaseIn(folder), "newer Fettle");
  EXPECT_FALSE(fs::exists(folder.file("tuning.db.aside")));
}

TEST(HostilePlacesTest, AFolder) {
  const TestFolder folder;
  fs::create_directories(folder.file("tuning.db/below"));
  ExpectSetAside(folder, "not a file");
}

TEST(HostilePlacesTest, APipe) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo(DatabaseIn(folder).c_str(), 0600), 0);
  ExpectSetAside(folder, "not a file");
}

TEST(HostilePlacesTest, ALinkToItself) {
  const TestFolder folder;
  fs::create_symlink("tuning.db", DatabaseIn(folder));
  ExpectSetAside(folder, "link to itself");
}

TEST(HostilePlacesTest, ALinkIsFollowed) {
  const TestFolder folder;
  const Warnings warnings;
  OpenStore(folder.file("real.db"))->Put(KeyOf(1), RowOf(1));
  fs::create_symlink("real.db", DatabaseIn(folder));
  ExpectRow(OpenStore(DatabaseIn(folder))->Find(KeyOf(1)), RowOf(1));
  EXPECT_TRUE(fs::is_symlink(DatabaseIn(folder)));
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

TEST(HostilePlacesTest, AFileInPlaceOfTheFolder) {
  const TestFolder folder;
  WriteFile(folder.file("cache"), "");
  ExpectInMemory(folder.file("cache/fettle/tuning.db"), "cannot make its folder");
}

TEST(HostilePlacesTest, APlaceThatCannotBe) {
  ExpectInMemory("/proc/fettle/tuning.db", "cannot make its folder");
  ExpectInMemory(std::string(5000, 'x'), "in memory");
}

TEST(HostilePlacesTest, ReplacedWhileInUse) {
  const TestFolder folder;
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  Use(*store);
  const auto other = OpenStore(folder.file("other.db"));
  other->Put(KeyOf(3), RowOf(3));
  fs::rename(folder.file("other.db-wal"), folder.file("tuning.db-wal"));
  fs::rename(folder.file("other.db-shm"), folder.file("tuning.db-shm"));
  fs::rename(folder.file("other.db"), folder.file("tuning.db"));
  store->Put(KeyOf(4), RowOf(4));
  ExpectRow(store->Find(KeyOf(3)), RowOf(3));
  ExpectRow(store->Find(KeyOf(4)), RowOf(4));
  ExpectTrouble(*store, warnings, "replaced while in use");
}

TEST(HostilePlacesTest, RemovedWhileInUse) {
  const TestFolder folder;
  {
    const Warnings warnings;
    const auto store = OpenStore(folder.file("cache/tuning.db"));
    Use(*store);
    fs::remove_all(folder.file("cache"));
    store->Put(KeyOf(5), RowOf(5));
    ExpectRow(store->Find(KeyOf(5)), RowOf(5));
    ExpectTrouble(*store, warnings, "replaced while in use");
  }
  ExpectRow(OpenStore(folder.file("cache/tuning.db"))->Find(KeyOf(5)), RowOf(5));
}

TEST(HostilePlacesTest, OverwrittenWhileInUse) {
  const TestFolder folder;
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  Use(*store);
  WriteFile(DatabaseIn(folder), std::string(50'000, 'x'));
  fs::resize_file(folder.file("tuning.db-wal"), 0);
  (void)store->Find(KeyOf(1));
  store->Put(KeyOf(6), RowOf(6));
  ExpectRow(store->Find(KeyOf(6)), RowOf(6));
  Use(*OpenStore(DatabaseIn(folder)));
  EXPECT_LE(warnings.lines().size(), 2);
}

TEST(HostilePlacesTest, Locked) {
  const TestFolder folder;
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  store->Put(KeyOf(7), RowOf(7));
  const auto other =
      sqlite::Connection::Open(DatabaseIn(folder), sqlite::Connection::Access::kWrite);
  ASSERT_TRUE((*other)->Execute("BEGIN IMMEDIATE").ok());
  Use(*store);  // waits for the lock, once
  ExpectRow(store->Find(KeyOf(7)), RowOf(7));
  ExpectTrouble(*store, warnings, "locked");
}

TEST(HostilePlacesTest, TooManyPutAside) {
  const TestFolder folder;
  for (int i = 0; i < 12; ++i) {
    WriteFile(DatabaseIn(folder), fmt::format("no database {} {}", i, std::string(1000, ' ')));
    const Warnings warnings;
    Use(*OpenStore(DatabaseIn(folder)));
    EXPECT_EQ(warnings.lines().size(), 1);
  }
  const auto files = std::distance(fs::directory_iterator(folder.path()), {});
  EXPECT_LE(files, 3 * 4);
}

/// Runs `body` in a child that is nobody, so that permissions mean something, and that may not die
/// of a file's size. Returns whether its expectations held.
bool InChild(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
    body();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(HostilePlacesTest, AReadOnlyFileIsStillRead) {
  const TestFolder folder;
  OpenStore(DatabaseIn(folder))->Put(KeyOf(2), RowOf(20));
  for (const char* suffix : {"", "-wal", "-shm"})
    fs::permissions(DatabaseIn(folder) + suffix, fs::perms(0444));
  EXPECT_TRUE(InChild([&] {
    const Warnings warnings;
    const auto store = OpenStore(DatabaseIn(folder));
    ExpectRow(store->Find(KeyOf(2)), RowOf(20));
    store->Put(KeyOf(1), RowOf(1));
    ExpectRow(store->Find(KeyOf(1)), RowOf(1));
    ExpectTrouble(*store, warnings, "may not be written");
  }));
}

TEST(HostilePlacesTest, AnUnreadableFileInAnUnwritableFolder) {
  const TestFolder folder;
  OpenStore(DatabaseIn(folder));
  fs::permissions(DatabaseIn(folder), fs::perms(0));
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_TRUE(InChild([&] { ExpectInMemory(DatabaseIn(folder), "in memory"); }));
}

TEST(HostilePlacesTest, AnUnwritableFolder) {
  const TestFolder folder;
  fs::permissions(folder.path(), fs::perms(0555));
  EXPECT_TRUE(InChild([&] { ExpectInMemory(DatabaseIn(folder), "in memory"); }));
  EXPECT_TRUE(InChild([&] { ExpectInMemory(folder.file("a/tuning.db"), "in memory"); }));
}

TEST(HostilePlacesTest, AFullDisk) {
  const TestFolder folder;
  fs::permissions(folder.path(), fs::perms(0777));
  for (const rlim_t limit : {rlim_t{0}, rlim_t{1000}, rlim_t{40'000}, rlim_t{100'000}}) {
    EXPECT_TRUE(InChild([&] {
      const std::string path = folder.file(fmt::format("{}.db", limit));
      const rlimit bytes{limit, limit};
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &bytes), 0);
      const Warnings warnings;
      const auto store = OpenStore(path);
      constexpr int kRows = 300;
      for (int i = 0; i < kRows; ++i) {
        store->BeginFlight(KeyOf(i));
        store->Put(KeyOf(i), RowOf(i));
        store->EndFlight(KeyOf(i));
      }
      for (int i = 0; i < kRows; ++i) ExpectRow(store->Find(KeyOf(i)), RowOf(i));
      EXPECT_EQ(warnings.lines().size(), 1);
    }));
  }
}

TEST(DatabasePathTest, FollowsTheEnvironment) {
  const auto path = [](const char* cache, const char* home, const std::string& folder) {
    cache ? ::setenv("XDG_CACHE_HOME", cache, 1) : ::unsetenv("XDG_CACHE_HOME");
    home ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
    return DatabasePath(folder);
  };
  const char* old_cache = std::getenv("XDG_CACHE_HOME");
  const char* old_home = std::getenv("HOME");
  const std::string cache = old_cache ? old_cache : "", home = old_home ? old_home : "";
  EXPECT_EQ(path("/c", "/h", ""), "/c/fettle/tuning.db");
  EXPECT_EQ(path("relative", "/h", ""), "/h/.cache/fettle/tuning.db");
  EXPECT_EQ(path(nullptr, "/h", ""), "/h/.cache/fettle/tuning.db");
  EXPECT_EQ(path(nullptr, nullptr, ""), "");
  EXPECT_EQ(path(nullptr, nullptr, "here"), "here/tuning.db");
  path(old_cache ? cache.c_str() : nullptr, old_home ? home.c_str() : nullptr, "");
}

}  // namespace
}  // namespace fettle::tuner
