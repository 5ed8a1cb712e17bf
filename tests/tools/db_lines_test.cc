// Rows and decisions as JSON lines: there and back, and what a hostile file can say.
#include "io/db_lines.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <sstream>

#include "tests/test_folder.h"

namespace fettle::tools {
namespace {

using testing::HasSubstr;
using tuner::Database;
using tuner::Row;
using tuner::RowKey;

class DbLinesTest : public testing::Test {
 protected:
  std::unique_ptr<Database> Open(const std::string& name) {
    return Database::Open(folder_.file(name), Database::Access::kWrite).value();
  }

  static std::string Export(Database& database) {
    std::ostringstream out;
    EXPECT_TRUE(ExportLines(database, out).ok());
    return out.str();
  }

  static Status Import(const std::string& text, Database& database) {
    std::istringstream in(text);
    return ImportLines(in, "rows.jsonl", database).status();
  }

  TestFolder folder_;
};

const RowKey kKey = {.problem = "threads 1\ninput \"x\"\n",
                     .kernel = "cpu.gemm",
                     .params = "tile=8",
                     .device = "d; driver 1",
                     .build = "b"};

TEST_F(DbLinesTest, RowsAndDecisionsComeBack) {
  const auto from = Open("a"), to = Open("b");
  const Row row = {.status = Row::Status::kStopped,
                   .median_us = 0.1,
                   .mad_us = 1e-300,
                   .low_us = 1e300,
                   .samples = 7,
                   .error = std::numeric_limits<double>::infinity(),
                   .reason = "slow \x01 \xc3\xa9",
                   .unix_seconds = 1'700'000'000};
  ASSERT_TRUE(from->Put(kKey, row).ok());
  ASSERT_TRUE(from->PutDecision({"graph", "line\nline", 1'700'000'000}).ok());
  const std::string text = Export(*from);
  ASSERT_TRUE(Import(text, *to).ok());
  EXPECT_EQ(Export(*to), text);
  EXPECT_EQ(to->Find(kKey)->error, row.error);
}

TEST_F(DbLinesTest, TextsThatAreNoUtf8AreLeftOut) {
  const auto database = Open("a");
  RowKey key = kKey;
  key.params = "\xff";
  ASSERT_TRUE(database->Put(key, {}).ok());
  ASSERT_TRUE(database->Put(kKey, {}).ok());
  std::ostringstream out;
  const Result<LineCounts> counts = ExportLines(*database, out);
  EXPECT_EQ(counts->rows, 1);
  EXPECT_EQ(counts->unprintable, 1);
}

TEST_F(DbLinesTest, TheYoungerRowStaysAndTheFutureIsNow) {
  const auto from = Open("a"), to = Open("b");
  ASSERT_TRUE(from->Put(kKey, {.samples = 1, .unix_seconds = 100}).ok());
  ASSERT_TRUE(to->Put(kKey, {.samples = 2, .unix_seconds = 200}).ok());
  ASSERT_TRUE(Import(Export(*from), *to).ok());
  EXPECT_EQ(to->Find(kKey)->samples, 2);
  ASSERT_TRUE(from->Put(kKey, {.samples = 3, .unix_seconds = int64_t{1} << 60}).ok());
  ASSERT_TRUE(Import(Export(*from), *to).ok());
  EXPECT_EQ(to->Find(kKey)->samples, 3);
  EXPECT_LT(to->Find(kKey)->unix_seconds, int64_t{1} << 40);
}

TEST_F(DbLinesTest, AWrongLineIsNamedAndNothingIsWritten) {
  const auto from = Open("a");
  ASSERT_TRUE(from->Put(kKey, {.samples = 1, .unix_seconds = 100}).ok());
  const std::string good = Export(*from);
  const std::string line = good.substr(good.find('\n') + 1);
  const auto with = [&](const std::string& old_text, const std::string& new_text) {
    std::string changed = line;
    return changed.replace(changed.find(old_text), old_text.size(), new_text);
  };
  const std::pair<std::string, const char*> kWrong[] = {
      {"{", "JSON object"},
      {"\n", "JSON object"},
      {"[]", "JSON object"},
      {"{}", "'problem': expected a text"},
      {"{\"decision\":3}", "'decision': expected a text"},
      {"{\"decision\":\"x\"}", "'text': expected a text"},
      {std::string(100'000, '['), "JSON object"},
      {std::string("{\"problem\":\"\xff\"}"), "JSON object"},
      {std::string(1000, '\0'), "JSON object"},
      {with("\"cpu.gemm\"", "7"), "'kernel': expected a text"},
      {with("\"version\":1", "\"version\":-1"), "'version': expected an integer"},
      {with("\"version\":1", "\"version\":1.5"), "'version': expected an integer"},
      {with("\"version\":1", "\"version\":99999999999"), "'version': expected an integer"},
      {with("\"samples\":1", "\"samples\":1e99"), "'samples': expected an integer"},
      {with("\"median_us\":0.0", "\"median_us\":-1"), "'median_us': expected a number"},
      {with("\"median_us\":0.0", "\"median_us\":\"fast\""), "'median_us': expected a number"},
      {with("\"median_us\":0.0", "\"median_us\":1e999"), "JSON object"},
      {with("\"ok\"", "\"fine\""), "'status': expected ok"},
      {with("\"unix_seconds\":100", "\"unix_seconds\":18446744073709551615"), "'unix_seconds'"},
      {with("\"tile=8\"", '"' + std::string(20 << 20, 'x') + '"'), "bytes"},
      {std::string(33 << 20, ' '), "longer than"},
  };
  for (const auto& [wrong, message] : kWrong) {
    const auto to = Open("b");
    const Status status = Import(good + wrong + "\n" + line, *to);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong.substr(0, 100);
    EXPECT_THAT(status.message(), HasSubstr("rows.jsonl: line 3"));
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
    EXPECT_FALSE(to->Find(kKey).ok());
  }
}

TEST_F(DbLinesTest, OtherFilesAreRefusedAtOnce) {
  const auto database = Open("a");
  EXPECT_THAT(Import("", *database).message(), HasSubstr("empty"));
  EXPECT_THAT(Import("{}", *database).message(), HasSubstr("line 1: expected {\"fettle_tuning\""));
  EXPECT_THAT(Import("{\"fettle_tuning\":\"1\"}", *database).message(), HasSubstr("line 1"));
  EXPECT_THAT(Import("{\"fettle_tuning\":2}", *database).message(), HasSubstr("newer"));
  EXPECT_TRUE(Import("{\"fettle_tuning\":1}", *database).ok());
}

}  // namespace
}  // namespace fettle::tools
