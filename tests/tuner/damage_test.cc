// Damaged databases: whatever bits flip and wherever the file ends, no crash and no wrong row.
#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include "tests/tuner/rows.h"
#include "tuner/store/database.h"
#include "tuner/store/maintenance.h"
#include "tuner/store/sqlite.h"

namespace fettle::tuner {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPlaces = 60;
#else
constexpr int kPlaces = 500;
#endif
constexpr int kRows = 60;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The bytes of a database and its log.
struct Image {
  std::string file, log;
};

/// `in_log`: all rows are still in the log.
Image MakeImage(bool in_log) {
  const TestFolder folder;
  Image image;
  auto store = OpenStore(DatabaseIn(folder));
  for (int i = 0; i < kRows; ++i) store->Put(KeyOf(i), RowOf(i));
  store->PutDecision("graph", "the text of a decision");
  store->BeginFlight(KeyOf(kRows));
  if (in_log) image = {Read(DatabaseIn(folder)), Read(DatabaseIn(folder) + "-wal")};
  store.reset();
  if (!in_log) image = {Read(DatabaseIn(folder)), ""};
  return image;
}

/// Opens the damaged database; every answer must be right or missing, and it must be usable.
void Check(const Image& image) {
  const TestFolder folder;
  Write(DatabaseIn(folder), image.file);
  Write(DatabaseIn(folder) + "-wal", image.log);
  const Warnings warnings;
  {
    const auto store = OpenStore(DatabaseIn(folder));
    for (int i = 0; i < kRows; ++i) {
      const Result<Row> row = store->Find(KeyOf(i));
      if (row.ok()) ExpectRow(row, RowOf(i));
    }
    const Result<std::string> decision = store->FindDecision("graph");
    EXPECT_TRUE(!decision.ok() || *decision == "the text of a decision");
    EXPECT_FALSE(store->Find(KeyOf(kRows)).ok());
    store->Put(KeyOf(kRows + 1), RowOf(kRows + 1));
    store->BeginFlight(KeyOf(kRows + 2));
    store->EndFlight(KeyOf(kRows + 2));
    // Damage that shows after the Put may take its row along, but not without a word.
    const Result<Row> last = store->Find(KeyOf(kRows + 1));
    if (last.ok() || store->trouble().empty()) ExpectRow(last, RowOf(kRows + 1));
    EXPECT_EQ(store->trouble().find('\n'), std::string::npos);
  }
  EXPECT_LE(warnings.lines().size(), 1);
  const auto database = Database::Open(DatabaseIn(folder), Database::Access::kRead);
  if (database.ok()) (void)Verify(**database);
}

class DamageTest : public testing::TestWithParam<bool> {
 protected:
  /// The part that is damaged: the log where the rows are in it.
  std::string& part() { return GetParam() ? image_.log : image_.file; }
  size_t AnyPlace() { return std::uniform_int_distribution<size_t>(0, part().size() - 1)(random_); }

  Image image_ = MakeImage(GetParam());
  std::mt19937_64 random_{7};
};
INSTANTIATE_TEST_SUITE_P(Places, DamageTest, testing::Bool(),
                         [](const auto& in_log) { return in_log.param ? "Log" : "File"; });

TEST_P(DamageTest, FlippedBits) {
  for (int i = 0; i < kPlaces && !HasFailure(); ++i) {
    const size_t place = AnyPlace();
    const char mask = static_cast<char>(1 << i % 8);
    SCOPED_TRACE(fmt::format("bit {} of byte {}", i % 8, place));
    part()[place] ^= mask;
    Check(image_);
    part()[place] ^= mask;
  }
}

TEST_P(DamageTest, Truncations) {
  const std::string whole = part();
  for (int i = 0; i < kPlaces && !HasFailure(); ++i) {
    const size_t place = AnyPlace();
    SCOPED_TRACE(fmt::format("cut at byte {}", place));
    part() = whole.substr(0, place);
    Check(image_);
  }
}

TEST_P(DamageTest, RunsOfNoise) {
  const std::string whole = part();
  for (int i = 0; i < kPlaces / 4 && !HasFailure(); ++i) {
    const size_t place = AnyPlace();
    SCOPED_TRACE(fmt::format("noise from byte {}", place));
    part() = whole;
    for (size_t at = place; at < std::min(whole.size(), place + 64); ++at)
      part()[at] = static_cast<char>(random_());
    Check(image_);
  }
}

TEST(SalvageTest, WhatCanBeReadGoesIntoTheNewDatabase) {
  const TestFolder folder;
  constexpr int kMany = 400;
  {
    const auto store = OpenStore(DatabaseIn(folder));
    for (int i = 0; i < kMany; ++i) store->Put(KeyOf(i), RowOf(i));
  }
  std::string bytes = Read(DatabaseIn(folder));
  constexpr size_t kPage = 4096;
  bytes.replace(bytes.size() / 2 / kPage * kPage, kPage, kPage, '\xff');
  Write(DatabaseIn(folder), bytes);
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  int found = 0;
  for (int i = 0; i < kMany; ++i) found += store->Find(KeyOf(i)).ok() ? 1 : 0;
  EXPECT_GT(found, kMany / 2);
  EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr("of its rows")));
}

/// Runs SQL on the database as somebody else.
void Tamper(const std::string& path, const char* sql) {
  const auto other = sqlite::Connection::Open(path, sqlite::Connection::Access::kWrite);
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->Execute(sql).ok());
}

TEST(SalvageTest, RowsOfAFileWithOtherTablesAreTaken) {
  const TestFolder folder;
  {
    const auto store = OpenStore(DatabaseIn(folder));
    for (int i = 0; i < 3; ++i) store->Put(KeyOf(i), RowOf(i));
  }
  Tamper(DatabaseIn(folder), "CREATE TABLE of_another_version (x)");
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store->Find(KeyOf(i)).ok()) << i;
  EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr("begins with 3 of its rows")));
}

TEST(ChecksumTest, ARowThatDisagreesIsDroppedWithOneWarning) {
  const TestFolder folder;
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder));
  for (int i = 0; i < 3; ++i) store->Put(KeyOf(i), RowOf(i));
  Tamper(DatabaseIn(folder), "UPDATE rows SET median_us=median_us+1 WHERE id<3");
  EXPECT_FALSE(store->Find(KeyOf(0)).ok());
  EXPECT_FALSE(store->Find(KeyOf(1)).ok());
  ExpectRow(store->Find(KeyOf(2)), RowOf(2));
  EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr("checksum")));
  store->Put(KeyOf(0), RowOf(5));
  ExpectRow(store->Find(KeyOf(0)), RowOf(5));
}

TEST(ChecksumTest, CoversEveryColumn) {
  for (const char* column : {"problem", "kernel", "version", "params", "device", "protocol",
                             "build", "status", "median_us", "mad_us", "low_us", "samples", "error",
                             "reason", "unix_seconds", "checksum"}) {
    const TestFolder folder;
    const auto store = OpenStore(DatabaseIn(folder));
    store->Put(KeyOf(1), RowOf(1));
    Tamper(DatabaseIn(folder), fmt::format("UPDATE rows SET {0}={0}+1", column).c_str());
    EXPECT_FALSE(store->Find(KeyOf(1)).ok()) << column;
  }
}

TEST(ChecksumTest, ARowInTheWrongPlaceIsNotFound) {
  const TestFolder folder;
  const auto store = OpenStore(DatabaseIn(folder));
  store->Put(KeyOf(1), RowOf(1));
  store->Put(KeyOf(2), RowOf(2));
  Tamper(DatabaseIn(folder),
         "DELETE FROM rows WHERE id=1; UPDATE rows SET subject=(SELECT subject-1 FROM rows)");
  EXPECT_FALSE(store->Find(KeyOf(1)).ok());
  EXPECT_FALSE(store->Find(KeyOf(2)).ok());
}

TEST(ChecksumTest, CoversDecisionsAndFlights) {
  const TestFolder folder;
  const auto store = OpenStore(DatabaseIn(folder));
  store->PutDecision("graph", "text");
  store->BeginFlight(KeyOf(1));
  Tamper(DatabaseIn(folder),
         "UPDATE decisions SET text='other'; UPDATE flights SET reason='x 1 2'");
  EXPECT_FALSE(store->FindDecision("graph").ok());
  EXPECT_FALSE(store->Find(KeyOf(1)).ok());
}

TEST(ChecksumTest, VerifyReportsWhatItFinds) {
  const TestFolder folder;
  const auto store = OpenStore(DatabaseIn(folder));
  for (int i = 0; i < 3; ++i) store->Put(KeyOf(i), RowOf(i));
  const auto database = Database::Open(DatabaseIn(folder), Database::Access::kWrite);
  EXPECT_THAT(*Verify(**database), IsEmpty());
  Tamper(DatabaseIn(folder), "UPDATE rows SET samples=9 WHERE id=1");
  EXPECT_THAT(*Verify(**database), ElementsAre(HasSubstr("1 rows or decisions")));
}

}  // namespace
}  // namespace fettle::tuner
