// What a database adds to a store: it lasts, it is shared, and it lies over another one.
#include <gmock/gmock.h>

#include "tests/tuner/rows.h"
#include "tuner/store/database.h"
#include "tuner/store/maintenance.h"

namespace fettle::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(LayeredStoreTest, RowsLast) {
  const TestFolder folder;
  OpenStore(DatabaseIn(folder))->Put(KeyOf(1), RowOf(1));
  OpenStore(DatabaseIn(folder))->PutDecision("graph", "text");
  const auto store = OpenStore(DatabaseIn(folder));
  ExpectRow(store->Find(KeyOf(1)), RowOf(1));
  EXPECT_EQ(*store->FindDecision("graph"), "text");
}

TEST(LayeredStoreTest, TwoOpenStoresSeeEachOther) {
  const TestFolder folder;
  const auto a = OpenStore(DatabaseIn(folder)), b = OpenStore(DatabaseIn(folder));
  a->Put(KeyOf(1), RowOf(1));
  ExpectRow(b->Find(KeyOf(1)), RowOf(1));
  b->Put(KeyOf(1), RowOf(2));
  ExpectRow(a->Find(KeyOf(1)), RowOf(2));
}

TEST(LayeredStoreTest, MakesItsFolder) {
  const TestFolder folder;
  const Warnings warnings;
  const std::string path = folder.file("a/b #?%20c/tuning.db");
  OpenStore(path)->Put(KeyOf(1), RowOf(1));
  EXPECT_TRUE(std::filesystem::exists(path));
  ExpectRow(OpenStore(path)->Find(KeyOf(1)), RowOf(1));
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

TEST(LayeredStoreTest, ALayerIsReadAndNeverWritten) {
  const TestFolder folder;
  const std::string layer = folder.file("layer.db");
  RowKey other_build = KeyOf(3);
  other_build.build = "gcc 13";
  {
    const auto below = OpenStore(layer);
    below->Put(KeyOf(1), RowOf(1));
    below->Put(KeyOf(2), RowOf(2));
    below->Put(KeyOf(3), RowOf(3, 5));
    below->PutDecision("graph", "below");
  }
  const auto bytes = std::filesystem::file_size(layer);
  const auto store = OpenStore(DatabaseIn(folder), layer);
  store->Put(KeyOf(2), RowOf(20));
  store->Put(other_build, RowOf(30, 9));
  ExpectRow(store->Find(KeyOf(1)), RowOf(1));
  ExpectRow(store->Find(KeyOf(2)), RowOf(20));
  ExpectRow(store->Find(KeyOf(3)), RowOf(3, 5));  // exact below beats a younger prior above
  EXPECT_EQ(*store->FindDecision("graph"), "below");
  store->PutDecision("graph", "above");
  EXPECT_EQ(*store->FindDecision("graph"), "above");
  EXPECT_EQ(std::filesystem::file_size(layer), bytes);
  ExpectRow(OpenStore(layer)->Find(KeyOf(2)), RowOf(2));
}

TEST(LayeredStoreTest, AnEmptyPathIsMemoryOverTheLayer) {
  const TestFolder folder;
  const Warnings warnings;
  OpenStore(DatabaseIn(folder))->Put(KeyOf(1), RowOf(1));
  const auto store = OpenStore("", DatabaseIn(folder));
  store->Put(KeyOf(2), RowOf(2));
  ExpectRow(store->Find(KeyOf(1)), RowOf(1));
  ExpectRow(store->Find(KeyOf(2)), RowOf(2));
  EXPECT_FALSE(OpenStore(DatabaseIn(folder))->Find(KeyOf(2)).ok());
  EXPECT_THAT(warnings.lines(), IsEmpty());
}

TEST(LayeredStoreTest, ALayerThatIsMissingIsLeftOutWithAWarning) {
  const TestFolder folder;
  const Warnings warnings;
  const auto store = OpenStore(DatabaseIn(folder), folder.file("nothing.db"));
  store->Put(KeyOf(1), RowOf(1));
  ExpectRow(store->Find(KeyOf(1)), RowOf(1));
  ASSERT_EQ(warnings.lines().size(), 1);
  EXPECT_THAT(warnings.lines()[0], HasSubstr("nothing.db"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("nothing.db")));
}

TEST(LayeredStoreTest, AReaderSeesOneStateWhileAnotherWrites) {
  const TestFolder folder;
  constexpr int kRows = 300;
  {
    const auto store = OpenStore(DatabaseIn(folder));
    for (int i = 0; i < kRows; ++i) store->Put(KeyOf(i), RowOf(i));
  }
  // As a database lies that nobody has open and that was copied: the whole file, no log.
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(DatabaseIn(folder) + suffix);
  const auto reader = Database::Open(DatabaseIn(folder), Database::Access::kRead);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const auto writer = Database::Open(DatabaseIn(folder), Database::Access::kWrite);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  int count = 0;
  const Status read = (*reader)->ForEachRow([&](const RowRecord&) {
    if (++count > 1) return OkStatus();
    RETURN_IF_ERROR((*writer)->connection().Execute("DELETE FROM rows WHERE id % 3 > 0"));
    RETURN_IF_ERROR((*writer)->connection().Execute("VACUUM"));
    return (*writer)->connection().Execute("PRAGMA wal_checkpoint(PASSIVE)");
  });
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(count, kRows);
  EXPECT_EQ((*reader)->damaged(), 0);
}

TEST(LayeredStoreTest, TheOldestRowsGoWhereTheFileGrowsTooLarge) {
  const TestFolder folder;
  const auto database = Database::Open(DatabaseIn(folder), Database::Access::kWrite);
  ASSERT_TRUE(database.ok());
  constexpr int kRows = 2000;
  for (int i = 0; i < kRows; ++i)
    ASSERT_TRUE((*database)->Put(KeyOf(i), RowOf(i, 1000 + (i * 7) % kRows)).ok());
  const int64_t before = *UsedBytes(**database);
  EXPECT_EQ(*LimitSize(**database, before), 0);
  EXPECT_GT(*LimitSize(**database, before / 2), kRows / 2);
  EXPECT_LT(*UsedBytes(**database), before / 2);
  int64_t oldest = 1000 + kRows, left = 0;
  ASSERT_TRUE((*database)
                  ->ForEachRow([&](const RowRecord& record) {
                    oldest = std::min(oldest, record.row.unix_seconds);
                    ++left;
                    return OkStatus();
                  })
                  .ok());
  EXPECT_EQ(oldest, 1000 + kRows - left);
}

}  // namespace
}  // namespace fettle::tuner
