#include "tuner/store/schema.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fettle::tuner {
namespace {

/// `subject` and `whole` are hashes of the key (row_key.h); the texts are compared too, so that
/// equal hashes are never taken for equal keys.
constexpr const char* kRowTable =
    "CREATE TABLE {} (id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, whole INTEGER NOT NULL, "
    "problem TEXT NOT NULL, kernel TEXT NOT NULL, version INTEGER NOT NULL, params TEXT NOT NULL, "
    "device TEXT NOT NULL, protocol INTEGER NOT NULL, build TEXT NOT NULL, status INTEGER NOT "
    "NULL, median_us REAL NOT NULL, mad_us REAL NOT NULL, low_us REAL NOT NULL, samples INTEGER "
    "NOT NULL, error REAL NOT NULL, reason TEXT NOT NULL, unix_seconds INTEGER NOT NULL, checksum "
    "INTEGER NOT NULL)";

struct Definition {
  std::string name, sql;
  bool operator==(const Definition&) const = default;
};

/// In order of names. A flight is the row that its process leaves behind if it dies: crashed, with
/// that process as the reason.
std::vector<Definition> Schema() {
  return {
      {"decisions",
       "CREATE TABLE decisions (id INTEGER PRIMARY KEY, key TEXT NOT NULL, text TEXT NOT NULL, "
       "unix_seconds INTEGER NOT NULL, checksum INTEGER NOT NULL)"},
      {"decisions_by_key", "CREATE UNIQUE INDEX decisions_by_key ON decisions (key)"},
      {"flights", fmt::format(kRowTable, "flights")},
      {"flights_by_key", "CREATE UNIQUE INDEX flights_by_key ON flights (subject, whole, reason)"},
      {"rows", fmt::format(kRowTable, "rows")},
      {"rows_by_key", "CREATE UNIQUE INDEX rows_by_key ON rows (subject, whole)"},
  };
}

Result<std::vector<Definition>> ReadSchema(sqlite::Connection& connection) {
  std::vector<Definition> found;
  ASSIGN_OR_RETURN(
      sqlite::Statement statement,
      connection.Prepare("SELECT name, sql FROM sqlite_master "
                         "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"));
  RETURN_IF_ERROR(statement.Run([&] {
    found.push_back({std::string(statement.Text(0)), std::string(statement.Text(1))});
    return OkStatus();
  }));
  return found;
}

Status Create(sqlite::Connection& connection) {
  // With the log, readers never wait for the writer, and a killed process loses nothing that it had
  // committed: the system has the bytes. Only a power cut can take the last moments, never more.
  RETURN_IF_ERROR(connection.Execute("PRAGMA journal_mode=WAL"));
  ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(connection));
  for (const Definition& definition : Schema())
    RETURN_IF_ERROR(connection.Execute(definition.sql.c_str()));
  RETURN_IF_ERROR(connection.Execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}",
                                                 kApplicationId, kSchemaVersion)
                                         .c_str()));
  return transaction.Commit();
}

}  // namespace

Status PrepareSchema(sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(const std::vector<Definition> found, ReadSchema(connection));
  ASSIGN_OR_RETURN(const int64_t id, connection.QueryInt("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const int64_t version, connection.QueryInt("PRAGMA user_version"));
  if (found.empty() && id == 0 && connection.writable()) return Create(connection);
  if (id != kApplicationId)
    return Error(StatusCode::kCorrupt, "{}: not a tuning database", connection.path());
  const bool ours = found == Schema();
  if (ours && version == kSchemaVersion) return OkStatus();
  // Tables that look like ours under another version are a flipped bit, not a newer Fettle.
  if (!ours && version > kSchemaVersion)
    return Error(StatusCode::kVersionMismatch,
                 "{}: made by a newer Fettle (schema {}, this one knows {})", connection.path(),
                 version, kSchemaVersion);
  return Error(StatusCode::kCorrupt, "{}: the tables of the tuning database are damaged",
               connection.path());
}

Status CheckRowTable(sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(const std::vector<Definition> found, ReadSchema(connection));
  const Definition rows{"rows", fmt::format(kRowTable, "rows")};
  if (std::find(found.begin(), found.end(), rows) != found.end()) return OkStatus();
  return Error(StatusCode::kCorrupt, "{}: no rows of a tuning database", connection.path());
}

}  // namespace fettle::tuner
