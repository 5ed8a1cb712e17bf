// What `fettle db` changes in a database.
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "commands/db.h"
#include "io/db_lines.h"
#include "io/tensor_io.h"
#include "report/table.h"
#include "report/terminal.h"
#include "tuner/store/database_file.h"
#include "tuner/store/row_key.h"

namespace fettle::tools {
namespace {

using tuner::Database;

constexpr int64_t kDaySeconds = 86400;

/// The database of the options, made where there is none.
Result<std::unique_ptr<Database>> OpenOrMake(const DbOptions& options) {
  ASSIGN_OR_RETURN(std::string path, DbPath(options));
  ASSIGN_OR_RETURN(path, tuner::ResolveDatabase(path));
  const tuner::FolderLock lock(path);
  return Database::Open(path, Database::Access::kWrite);
}

bool HasFilter(const DbOptions& options) {
  const tuner::RowFilter& filter = options.filter;
  return options.older_than_days || !filter.kernel.empty() || !filter.device.empty() ||
         !filter.build.empty();
}

}  // namespace

Status DbImport(const DbOptions& options) {
  std::ifstream file;
  const bool from_stdin = options.file == "-";
  if (!from_stdin) {
    if (!FileExists(options.file))
      return Error(StatusCode::kNotFound, "{}: no such file", options.file);
    file.open(options.file, std::ios::binary);
    if (!file) return InvalidArgument("{}: {}", options.file, std::strerror(errno));
  }
  ASSIGN_OR_RETURN(const auto database, OpenOrMake(options));
  ASSIGN_OR_RETURN(const LineCounts counts,
                   ImportLines(from_stdin ? std::cin : file,
                               from_stdin ? "standard input" : options.file, *database));
  PrintWarnings(counts.warnings);
  if (options.json)
    PrintJson({{"path", database->path()},
               {"rows", counts.rows},
               {"decisions", counts.decisions},
               {"refused", counts.refused},
               {"warnings", counts.warnings}});
  else
    fmt::print(
        "{}: read {}, {}{}\n", database->path(), Count(counts.rows, "row"),
        Count(counts.decisions, "decision"),
        counts.refused > 0 ? fmt::format("; refused {}", Count(counts.refused, "line")) : "");
  return OkStatus();
}

Status DbMerge(const DbOptions& options) {
  if (!FileExists(options.file))
    return Error(StatusCode::kNotFound, "{}: no such file", options.file);
  Result<std::unique_ptr<Database>> other = Database::Open(options.file, Database::Access::kRead);
  if (!other.ok()) return AsInvalidInput(other.status());
  ASSIGN_OR_RETURN(const auto database, OpenOrMake(options));
  ASSIGN_OR_RETURN(const int64_t taken, Merge(*database, **other));
  if (options.json)
    PrintJson({{"path", database->path()}, {"taken", taken}, {"damaged", (*other)->damaged()}});
  else
    fmt::print("{}: {} taken from {}\n", database->path(), Count(taken, "row"), options.file);
  return OkStatus();
}

Status DbPrune(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kWrite));
  tuner::RowFilter filter = options.filter;
  if (options.older_than_days)
    filter.older_than_seconds =
        tuner::UnixNow() - static_cast<int64_t>(*options.older_than_days * kDaySeconds);
  int64_t removed = 0;
  if (HasFilter(options)) {
    ASSIGN_OR_RETURN(removed, DeleteRows(*database, filter));
  }
  if (options.max_bytes) {
    ASSIGN_OR_RETURN(const int64_t evicted,
                     LimitSize(*database, static_cast<int64_t>(*options.max_bytes)));
    removed += evicted;
  }
  RETURN_IF_ERROR(Shrink(*database));
  ASSIGN_OR_RETURN(const int64_t bytes, UsedBytes(*database));
  if (options.json)
    PrintJson({{"path", database->path()}, {"removed", removed}, {"used_bytes", bytes}});
  else
    fmt::print("{}: {} removed, {} left\n", database->path(), Count(removed, "row"),
               HumanBytes(static_cast<double>(bytes)));
  return OkStatus();
}

}  // namespace fettle::tools
