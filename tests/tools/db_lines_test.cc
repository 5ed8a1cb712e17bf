// Rows and decisions as JSON lines: there and back, and what a hostile file can say.
#include "io/db_lines.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "tests/test_folder.h"
#include "tests/tuner/rows.h"
#include "tuner/cost/ceilings.h"
#include "tuner/store/candidate.h"
#include "tuner/store/row_key.h"

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

TEST_F(DbLinesTest, AWrongLineIsNamedAndCostsItselfAlone) {
  const auto from = Open("a");
  ASSERT_TRUE(from->Put(kKey, {.samples = 1, .unix_seconds = 100}).ok());
  const std::string good = Export(*from);
  const std::string header = good.substr(0, good.find('\n') + 1);
  const std::string line = good.substr(header.size());
  int number = 0;
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
    const auto to = Open("b" + std::to_string(++number));
    std::istringstream in(header + wrong + "\n" + line);
    const Result<LineCounts> counts = ImportLines(in, "rows.jsonl", *to);
    ASSERT_TRUE(counts.ok()) << wrong.substr(0, 100);
    EXPECT_EQ(counts->rows, 1);
    EXPECT_EQ(counts->refused, 1 + std::ranges::count(wrong, '\n'));
    EXPECT_THAT(counts->warnings[0], HasSubstr("rows.jsonl: line 2"));
    EXPECT_THAT(counts->warnings[0], HasSubstr(message));
    EXPECT_EQ(counts->warnings[0].find('\n'), std::string::npos);
    EXPECT_EQ(to->Find(kKey)->samples, 1);
    const auto none = Open("none");
    const Status alone = Import(header + wrong + "\n", *none);
    EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument) << "nothing of it is a row";
  }
}

TEST_F(DbLinesTest, ManyWrongLinesAreCountedAndTheFirstAreNamed) {
  const auto from = Open("a"), to = Open("b");
  ASSERT_TRUE(from->Put(kKey, {.samples = 1}).ok());
  std::string text = Export(*from);
  for (int i = 0; i < 25; ++i) text += "{}\n";
  std::istringstream in(text);
  const Result<LineCounts> counts = ImportLines(in, "rows.jsonl", *to);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->refused, 25);
  EXPECT_EQ(counts->warnings.size(), 11u);
  EXPECT_THAT(counts->warnings.back(), HasSubstr("and 15 more lines"));
}

/// A key of each kind that something keeps, with any figures.
std::vector<RowKey> KeysOfAllKinds() {
  const CpuDevice device(nullptr);
  std::vector<RowKey> keys = {kKey, tuner::HostKey(kKey), tuner::CeilingKey("fp32 fma", device),
                              tuner::NetworksKey("enqueueing", device),
                              tuner::NetworksKey("beside the steps of a run", device)};
  keys.push_back(kKey);
  keys.back().problem = "in networks threads 2 nhwc -> nhwc of 16 us";
  keys.push_back(kKey);
  keys.back().problem = "convert f32[1x8] a b threads 1";
  return keys;
}

TEST_F(DbLinesTest, WhateverMayBeWrittenComesBack) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kFigures[] = {-237.25,
                                 -kInfinity,
                                 -1e-300,
                                 0,
                                 5e-324,
                                 0.1,
                                 4.25e12,
                                 1e308,
                                 -1e308,
                                 kInfinity,
                                 std::numeric_limits<double>::quiet_NaN()};
  std::mt19937 random(35);
  const auto figure = [&] { return kFigures[random() % std::size(kFigures)]; };
  const auto from = Open("a"), to = Open("b");
  std::vector<RowKey> keys;
  for (int i = 0; i < 300; ++i) {
    for (RowKey key : KeysOfAllKinds()) {
      key.params = std::to_string(i);
      key.version = i % 2 == 0 ? i : -i;
      const char* const reason = i % 3 == 0 ? "" : "FLOP/s";
      ASSERT_TRUE(from->Put(key, {.status = static_cast<Row::Status>(i % 5),
                                  .median_us = figure(),
                                  .mad_us = figure(),
                                  .low_us = figure(),
                                  .samples = static_cast<int>(random()),
                                  .error = figure(),
                                  .reason = reason,
                                  .unix_seconds = i * 1000 - 5})
                      .ok());
      keys.push_back(std::move(key));
    }
  }
  const std::string text = Export(*from);
  std::istringstream in(text);
  const Result<LineCounts> counts = ImportLines(in, "rows.jsonl", *to);
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->refused, 0) << counts->warnings[0];
  EXPECT_EQ(counts->rows, std::ssize(keys));
  EXPECT_EQ(Export(*to), text);
  for (const RowKey& key : keys) tuner::ExpectRow(to->Find(key), *from->Find(key));
}

TEST_F(DbLinesTest, OnlyTimesAreMicroseconds) {
  const auto database = Open("a");
  for (const RowKey& key : KeysOfAllKinds())
    ASSERT_TRUE(database->Put(key, {.median_us = -237, .reason = "FLOP/s"}).ok());
  ASSERT_TRUE(database
                  ->ForEachRow([](const tuner::RowRecord& record) {
                    const Json json = RowJson(record);
                    const bool timed = tuner::IsTimed(record.key);
                    EXPECT_EQ(json.contains("median_us"), timed) << record.key.problem;
                    EXPECT_EQ(json.contains("value"), !timed) << record.key.problem;
                    EXPECT_EQ(json.contains("unit"), !timed) << record.key.problem;
                    if (timed) {
                      EXPECT_TRUE(json["median_us"].is_null()) << "no time is below 0";
                    } else {
                      EXPECT_EQ(json["value"], -237);
                    }
                    return OkStatus();
                  })
                  .ok());
}

TEST_F(DbLinesTest, ExportsOfFormatOneAreRead) {
  const CpuDevice device(nullptr);
  const RowKey key = tuner::CeilingKey("fp32 fma", device);
  Json old = {{"problem", key.problem}, {"kernel", key.kernel}, {"version", key.version},
              {"params", key.params},   {"device", key.device}, {"protocol", key.protocol},
              {"build", key.build},     {"status", "ok"},       {"median_us", 4e12},
              {"mad_us", 1e9},          {"low_us", 4.5e12},     {"samples", 3},
              {"error", 0.0},           {"reason", "FLOP/s"},   {"unix_seconds", 100}};
  Json overhead = old;
  overhead["problem"] = "in networks, beside the steps of a run";
  overhead["median_us"] = -237.0;
  const auto to = Open("b");
  const Status status =
      Import("{\"fettle_tuning\":1}\n" + old.dump() + "\n" + overhead.dump() + "\n", *to);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(to->Find(key)->low_us, 4.5e12);
  EXPECT_EQ(to->Find(key)->reason, "FLOP/s");
  RowKey beside = key;
  beside.problem = overhead["problem"];
  EXPECT_EQ(to->Find(beside)->median_us, -237);
}

TEST_F(DbLinesTest, OtherFilesAreRefusedAtOnce) {
  const auto database = Open("a");
  EXPECT_THAT(Import("", *database).message(), HasSubstr("empty"));
  EXPECT_THAT(Import("{}", *database).message(), HasSubstr("line 1: expected {\"fettle_tuning\""));
  EXPECT_THAT(Import("{\"fettle_tuning\":\"1\"}", *database).message(), HasSubstr("line 1"));
  EXPECT_THAT(Import("{\"fettle_tuning\":3}", *database).message(), HasSubstr("newer"));
  EXPECT_TRUE(Import("{\"fettle_tuning\":1}", *database).ok());
}

}  // namespace
}  // namespace fettle::tools
