// What `fettle db` says about a database.
#include <fmt/core.h>

#include <ctime>
#include <fstream>
#include <iostream>

#include "commands/db.h"
#include "io/db_lines.h"
#include "io/tensor_io.h"
#include "report/table.h"
#include "tuner/store/database_file.h"
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

/// A text of several lines on one, cut to what a terminal shows.
std::string Short(std::string text) {
  constexpr size_t kMost = 60;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

void PrintSummary(const std::string& path, const tuner::DatabaseSummary& summary) {
  Table table({{"database"}, {path}});
  table.Row({"rows", fmt::format("{}", summary.row_count())});
  for (const auto& [status, count] : summary.rows)
    table.Row({"  " + StatusName(status), fmt::format("{}", count)});
  table.Row({"decisions", fmt::format("{}", summary.decisions)});
  table.Row({"in flight", fmt::format("{}", summary.flights)});
  table.Row({"damaged", fmt::format("{}", summary.damaged)});
  if (summary.row_count() > 0) {
    table.Row({"oldest", Date(summary.oldest_seconds)});
    table.Row({"youngest", Date(summary.youngest_seconds)});
  }
  table.Row({"size", HumanBytes(static_cast<double>(summary.file_bytes))});
  for (const auto& [device, count] : summary.devices)
    table.Row({"device", fmt::format("{}: {} rows", Short(device), count)});
  for (const auto& [build, count] : summary.builds)
    table.Row({"build", fmt::format("{}: {} rows", Short(build), count)});
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
               {"parameters"},
               {"status"},
               {"us", kRight},
               {"+-", kRight},
               {"measured"},
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
    } else {
      table.Row({key.kernel, Short(key.params), StatusName(row.status),
                 fmt::format("{:.2f}", row.median_us), fmt::format("{:.2f}", row.mad_us),
                 Date(row.unix_seconds), Short(key.problem)});
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
  std::ofstream file;
  if (!to_stdout) file.open(options.file, std::ios::binary);
  const Result<LineCounts> counts = ExportLines(*database, to_stdout ? std::cout : file);
  if (!counts.ok())
    return counts.status().WithContext(to_stdout ? "standard output" : options.file);
  if (counts->unprintable > 0)
    PrintWarnings({fmt::format("{} rows have texts that are no UTF-8 and were left out",
                               counts->unprintable)});
  if (to_stdout) return OkStatus();
  if (options.json)
    PrintJson({{"file", options.file}, {"rows", counts->rows}, {"decisions", counts->decisions}});
  else
    fmt::print("{}: {} rows, {} decisions\n", options.file, counts->rows, counts->decisions);
  return OkStatus();
}

Status DbVerify(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kRead));
  ASSIGN_OR_RETURN(const std::vector<std::string> problems, Verify(*database));
  if (options.json) {
    PrintJson({{"path", database->path()}, {"ok", problems.empty()}, {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", Short(problem));
    if (problems.empty()) fmt::print("{}: sound\n", database->path());
  }
  if (problems.empty()) return OkStatus();
  return Error(StatusCode::kCorrupt, "{}: {} problems", database->path(), problems.size());
}

}  // namespace fettle::tools
