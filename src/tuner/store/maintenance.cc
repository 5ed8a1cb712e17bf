#include "tuner/store/maintenance.h"

#include <algorithm>
#include <filesystem>

#include "tuner/store/row_key.h"

namespace fettle::tuner {
namespace {

using sqlite::Statement;
using sqlite::Transaction;

/// The `share` of a table's lines that are oldest.
Result<int64_t> DeleteOldest(Database& database, const std::string& table, double share) {
  sqlite::Connection& connection = database.connection();
  ASSIGN_OR_RETURN(const int64_t lines, connection.QueryInt("SELECT count(*) FROM " + table));
  ASSIGN_OR_RETURN(Statement remove,
                   connection.Prepare(fmt::format("DELETE FROM {0} WHERE id IN (SELECT id FROM {0} "
                                                  "ORDER BY unix_seconds, id LIMIT ?1)",
                                                  table)));
  const auto count = static_cast<int64_t>(share * static_cast<double>(lines));
  RETURN_IF_ERROR(remove.Bind(std::min(count + 1, lines)).Run());
  return connection.changes();
}

Status MergeRow(Database& database, RowRecord record, int64_t now) {
  record.row.unix_seconds = std::min(record.row.unix_seconds, now);
  return database.Put(record.key, record.row, Conflict::kKeepYounger);
}

Status MergeDecision(Database& database, DecisionRecord record, int64_t now) {
  record.unix_seconds = std::min(record.unix_seconds, now);
  return database.PutDecision(record, Conflict::kKeepYounger);
}

}  // namespace

Result<int64_t> UsedBytes(Database& database) {
  sqlite::Connection& connection = database.connection();
  ASSIGN_OR_RETURN(const int64_t pages, connection.QueryInt("PRAGMA page_count"));
  ASSIGN_OR_RETURN(const int64_t free, connection.QueryInt("PRAGMA freelist_count"));
  ASSIGN_OR_RETURN(const int64_t bytes, connection.QueryInt("PRAGMA page_size"));
  return (pages - free) * bytes;
}

Result<int64_t> LimitSize(Database& database, int64_t limit_bytes) {
  ASSIGN_OR_RETURN(const int64_t used, UsedBytes(database));
  if (used <= limit_bytes) return 0;
  const double keep = 0.75 * static_cast<double>(limit_bytes) / static_cast<double>(used);
  ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database.connection()));
  ASSIGN_OR_RETURN(const int64_t rows, DeleteOldest(database, "rows", 1 - keep));
  ASSIGN_OR_RETURN(const int64_t decisions, DeleteOldest(database, "decisions", 1 - keep));
  RETURN_IF_ERROR(transaction.Commit());
  return rows + decisions;
}

bool RowFilter::Matches(const RowRecord& record) const {
  return record.key.kernel.find(kernel) != std::string::npos &&
         record.key.device.find(device) != std::string::npos &&
         record.key.build.find(build) != std::string::npos &&
         (!older_than_seconds || record.row.unix_seconds < *older_than_seconds);
}

Result<int64_t> DeleteRows(Database& database, const RowFilter& filter) {
  sqlite::Connection& connection = database.connection();
  ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(connection));
  ASSIGN_OR_RETURN(Statement select, connection.Prepare(SelectRows("rows")));
  std::vector<int64_t> lines;
  RETURN_IF_ERROR(select.Run([&] {
    const std::optional<RowRecord> record = ReadRow(select);
    if (!record || filter.Matches(*record)) lines.push_back(select.Int(0));
    return OkStatus();
  }));
  ASSIGN_OR_RETURN(Statement remove, connection.Prepare("DELETE FROM rows WHERE id=?1"));
  for (const int64_t line : lines) RETURN_IF_ERROR(remove.Bind(line).Run());
  RETURN_IF_ERROR(transaction.Commit());
  return static_cast<int64_t>(lines.size());
}

Status Shrink(Database& database) { return database.connection().Execute("VACUUM"); }

Result<int64_t> Merge(Database& database, Database& from) {
  const int64_t now = UnixNow();
  int64_t taken = 0;
  ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database.connection()));
  RETURN_IF_ERROR(from.ForEachRow([&](const RowRecord& record) {
    RETURN_IF_ERROR(MergeRow(database, record, now));
    taken += database.connection().changes();
    return OkStatus();
  }));
  RETURN_IF_ERROR(from.ForEachDecision([&](const DecisionRecord& record) {
    RETURN_IF_ERROR(MergeDecision(database, record, now));
    taken += database.connection().changes();
    return OkStatus();
  }));
  RETURN_IF_ERROR(transaction.Commit());
  return taken;
}

int64_t Salvage(Database& database, const std::string& path) {
  const auto from = Database::Open(path, Database::Access::kSalvage);
  if (!from.ok()) return 0;
  Result<Transaction> transaction = Transaction::Begin(database.connection());
  if (!transaction.ok()) return 0;
  int64_t saved = 0;
  // Reading ends at the first damaged page, so both ends are begun with.
  for (const char* order : {" ORDER BY id DESC", " ORDER BY id"}) {
    Result<Statement> select = (*from)->connection().Prepare(SelectRows("rows") + order);
    if (!select.ok()) continue;
    (void)select->Run([&] {
      if (const std::optional<RowRecord> record = ReadRow(*select)) {
        RETURN_IF_ERROR(database.Put(record->key, record->row, Conflict::kKeepYounger));
        saved += database.connection().changes();
      }
      return OkStatus();
    });
  }
  return transaction->Commit().ok() ? saved : 0;
}

int64_t DatabaseSummary::row_count() const {
  int64_t count = 0;
  for (const auto& [status, number] : rows) count += number;
  return count;
}

Result<DatabaseSummary> SummariseDatabase(Database& database) {
  DatabaseSummary summary;
  const int64_t damaged_before = database.damaged();
  RETURN_IF_ERROR(database.ForEachRow([&](const RowRecord& record) {
    const int64_t seconds = record.row.unix_seconds;
    summary.oldest_seconds =
        summary.rows.empty() ? seconds : std::min(summary.oldest_seconds, seconds);
    summary.youngest_seconds = std::max(summary.youngest_seconds, seconds);
    ++summary.rows[record.row.status];
    ++summary.devices[record.key.device];
    if (IsCeiling(record.key)) ++summary.ceilings;
    const std::string& build = record.key.build;
    ++summary.builds[build.substr(build.find(' ') + 1)];
    return OkStatus();
  }));
  RETURN_IF_ERROR(database.ForEachDecision([&](const DecisionRecord&) {
    ++summary.decisions;
    return OkStatus();
  }));
  summary.damaged = database.damaged() - damaged_before;
  ASSIGN_OR_RETURN(summary.flights, database.connection().QueryInt("SELECT count(*) FROM flights"));
  ASSIGN_OR_RETURN(summary.used_bytes, UsedBytes(database));
  std::error_code ignored;
  for (const char* suffix : {"", "-wal"}) {
    const auto bytes = std::filesystem::file_size(database.path() + suffix, ignored);
    if (!ignored) summary.file_bytes += static_cast<int64_t>(bytes);
  }
  return summary;
}

Result<std::vector<std::string>> Verify(Database& database) {
  std::vector<std::string> problems;
  ASSIGN_OR_RETURN(Statement check, database.connection().Prepare("PRAGMA integrity_check(20)"));
  const Status checked = check.Run([&] {
    if (check.Text(0) != "ok") problems.emplace_back(check.Text(0));
    return OkStatus();
  });
  if (!checked.ok()) problems.push_back(checked.message());
  const Result<DatabaseSummary> summary = SummariseDatabase(database);
  if (!summary.ok())
    problems.push_back(summary.status().message());
  else if (summary->damaged > 0)
    problems.push_back(
        fmt::format("{} rows or decisions disagree with their checksum", summary->damaged));
  return problems;
}

}  // namespace fettle::tuner
