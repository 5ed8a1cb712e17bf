// What `fettle db` says about a database.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <iostream>
#include <sstream>

#include "base/file.h"
#include "commands/db.h"
#include "io/db_lines.h"
#include "io/tensor_io.h"
#include "report/table.h"
#include "report/terminal.h"
#include "tuner/store/database_file.h"
#include "tuner/store/row_key.h"
#include "tuner/store/schema.h"

namespace fettle::tools {
namespace {

using tuner::Database;
using tuner::RowRecord;

std::string Date(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr) return fmt::format("{}", unix_seconds);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min);
}

/// A text of several lines on one.
std::string OneLine(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

/// Old ceilings have none.
std::string UnitOf(const RowRecord& record) {
  const std::string unit = tuner::UnitOf(record.key, record.row);
  return unit.empty() ? "1/s" : unit;
}

std::string WithUnit(const RowRecord& record, double value) {
  const std::string unit = UnitOf(record);
  if (!unit.ends_with("/s")) return fmt::format("{:.2f} {}", value, unit);
  return HumanCount(value) + (unit == "1/s" ? "/s" : unit);
}

void PrintSummary(const std::string& path, const tuner::DatabaseSummary& summary) {
  Table table({{"database"}, {.title = path, .narrow = Table::Narrow::kWrap}});
  table.Row({"rows", fmt::format("{}", summary.row_count())});
  for (const auto& [status, count] : summary.rows)
    table.Row({"  " + StatusName(status), fmt::format("{}", count)});
  table.Row({"  ceilings among them", fmt::format("{}", summary.ceilings)});
  table.Row({"decisions", fmt::format("{}", summary.decisions)});
  table.Row({"in flight", fmt::format("{}", summary.flights)});
  table.Row({"damaged", fmt::format("{}", summary.damaged)});
  if (summary.row_count() > 0) {
    table.Row({"oldest", Date(summary.oldest_seconds)});
    table.Row({"youngest", Date(summary.youngest_seconds)});
  }
  table.Row({"size", HumanBytes(static_cast<double>(summary.file_bytes))});
  for (const auto& [device, count] : summary.devices)
    table.Row({"device", fmt::format("{}: {}", OneLine(device), Count(count, "row"))});
  for (const auto& [build, count] : summary.builds)
    table.Row({"build", fmt::format("{}: {}", OneLine(build), Count(count, "row"))});
  fmt::print("{}", table.ToString());
}

}  // namespace

Result<std::string> DbPath(const DbOptions& options) {
  const std::string path = tuner::DatabasePath(options.cache);
  if (!path.empty()) return path;
  return InvalidArgument("neither XDG_CACHE_HOME nor HOME names a folder; give one with --cache");
}

Result<std::unique_ptr<Database>> OpenDb(const DbOptions& options, Database::Access access) {
  ASSIGN_OR_RETURN(const std::string path, DbPath(options));
  if (!FileExists(path))
    return Error(StatusCode::kNotFound, "{}: nothing has been tuned yet", path);
  return Database::Open(path, access);
}

Status DbInfo(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kRead));
  ASSIGN_OR_RETURN(const tuner::DatabaseSummary summary, tuner::SummariseDatabase(*database));
  if (!options.json) {
    PrintSummary(database->path(), summary);
    return OkStatus();
  }
  Json statuses = Json::object();
  for (const auto& [status, count] : summary.rows) statuses[StatusName(status)] = count;
  PrintJson({{"path", database->path()},
             {"schema", tuner::kSchemaVersion},
             {"rows", summary.row_count()},
             {"by_status", std::move(statuses)},
             {"ceilings", summary.ceilings},
             {"decisions", summary.decisions},
             {"in_flight", summary.flights},
             {"damaged", summary.damaged},
             {"oldest", summary.oldest_seconds},
             {"youngest", summary.youngest_seconds},
             {"file_bytes", summary.file_bytes},
             {"used_bytes", summary.used_bytes},
             {"devices", summary.devices},
             {"builds", summary.builds}});
  return OkStatus();
}

Status DbList(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kRead));
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"kernel"},
               {.title = "parameters", .leaves = 3},
               {"status"},
               {"median", kRight},
               {.title = "+-", .align = kRight, .leaves = 1},
               {.title = "measured", .leaves = 2},
               {"problem"}});
  Json rows = Json::array();
  int64_t shown = 0, more = 0;
  RETURN_IF_ERROR(database->ForEachRow([&](const RowRecord& record) {
    const auto& [key, row] = record;
    if (!options.filter.Matches(record)) return OkStatus();
    if (options.limit > 0 && shown == options.limit) {
      ++more;
      return OkStatus();
    }
    ++shown;
    if (options.json) {
      rows.push_back(RowJson(record));
      rows.back()["unit"] = UnitOf(record);
    } else {
      table.Row({key.kernel, OneLine(key.params), StatusName(row.status),
                 WithUnit(record, row.median_us), WithUnit(record, row.mad_us),
                 Date(row.unix_seconds), OneLine(key.problem)});
    }
    return OkStatus();
  }));
  if (options.json) {
    PrintJson({{"path", database->path()}, {"rows", std::move(rows)}, {"left_out", more}});
  } else {
    fmt::print("{}", table.ToString());
    if (more > 0) fmt::print("and {} more\n", more);
  }
  return OkStatus();
}

Status DbExport(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kRead));
  const bool to_stdout = options.file == "-";
  std::ostringstream lines;
  errno = 0;
  const Result<LineCounts> counts = ExportLines(*database, to_stdout ? std::cout : lines);
  if (!counts.ok() && to_stdout && counts.status().code() == StatusCode::kIo && errno != 0)
    return Error(StatusCode::kIo, "cannot write to standard output: {}", std::strerror(errno));
  if (!counts.ok())
    return counts.status().WithContext(to_stdout ? "standard output" : options.file);
  if (!to_stdout)
    RETURN_IF_ERROR(AsWriteFailure(WriteTextFile(options.file, std::move(lines).str())));
  if (counts->unprintable > 0)
    PrintWarnings({Count(counts->unprintable, "row") + " left out for texts that are not UTF-8"});
  if (to_stdout) return OkStatus();
  if (options.json)
    PrintJson({{"file", options.file}, {"rows", counts->rows}, {"decisions", counts->decisions}});
  else
    fmt::print("{}: {}, {}\n", options.file, Count(counts->rows, "row"),
               Count(counts->decisions, "decision"));
  return OkStatus();
}

Status DbVerify(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kRead));
  ASSIGN_OR_RETURN(const std::vector<std::string> problems, Verify(*database));
  if (options.json) {
    PrintJson({{"path", database->path()}, {"ok", problems.empty()}, {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", Fit(OneLine(problem)));
    if (problems.empty()) fmt::print("{}: sound\n", database->path());
  }
  if (problems.empty()) return OkStatus();
  return Error(StatusCode::kCorrupt, "{}: {}", database->path(),
               Count(std::ssize(problems), "problem"));
}

}  // namespace fettle::tools
