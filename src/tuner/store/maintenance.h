// Looking after a tuning database: what is in it, what may go, whether it is sound.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/store/database.h"

namespace fettle::tuner {

/// Bytes of the pages that hold something, which the file can shrink to.
Result<int64_t> UsedBytes(Database& database);

/// Deletes the oldest rows and decisions until the file would fit into three quarters of
/// `limit_bytes`, if it does not fit into all of it. Returns how many went.
Result<int64_t> LimitSize(Database& database, int64_t limit_bytes);

/// Rows that agree with all that is set. Texts are parts of the key's.
struct RowFilter {
  std::string kernel, device, build;
  std::optional<int64_t> older_than_seconds;  // unix time

  bool Matches(const RowRecord& record) const;
};
/// Returns how many rows went.
Result<int64_t> DeleteRows(Database& database, const RowFilter& filter);

/// Gives the bytes of deleted rows back to the file system.
Status Shrink(Database& database);

/// Adds the rows and decisions of `from`; where both have a key, the younger one stays, dates in
/// the future count as now. All or nothing. Returns how many were added or replaced.
Result<int64_t> Merge(Database& database, Database& from);

/// Adds the rows of a damaged database at `path` that can still be read, as many as that may be.
int64_t Salvage(Database& database, const std::string& path);

struct DatabaseSummary {
  std::map<Row::Status, int64_t> rows;
  std::map<std::string, int64_t> devices;  // rows each
  /// Rows by compiler and flags: the hash before them is another for each kernel.
  std::map<std::string, int64_t> builds;
  int64_t ceilings = 0;  // of these rows, what `fettle peak` and probes measured
  int64_t decisions = 0, flights = 0, damaged = 0;
  int64_t oldest_seconds = 0, youngest_seconds = 0;  // 0 where there are no rows
  int64_t file_bytes = 0, used_bytes = 0;

  int64_t row_count() const;
};
Result<DatabaseSummary> SummariseDatabase(Database& database);

/// What is wrong, a line each; empty: nothing. Reads everything.
Result<std::vector<std::string>> Verify(Database& database);

}  // namespace fettle::tuner
