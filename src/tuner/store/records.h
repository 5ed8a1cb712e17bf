// Rows and decisions as lines of the database's tables, each with its checksum.
#pragma once

#include <optional>
#include <string>

#include "tuner/store/sqlite.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

struct RowRecord {
  RowKey key;
  Row row;
};
struct DecisionRecord {
  std::string key, text;
  int64_t unix_seconds = 0;
};

/// `SELECT ... FROM table`, to be followed by conditions; column 0 is the line's id. `table` is
/// "rows" or "flights".
std::string SelectRows(const std::string& table);
/// `INSERT OR REPLACE INTO table ...` of one line, to be followed by `WHERE ...`; ?1 and ?2 are
/// the hashes of subject and key, ?17 its time.
std::string InsertRow(const std::string& table);
std::string SelectDecisions();
/// ?1 is the key, ?3 the time.
std::string InsertDecision();

/// The current line of a select above; nothing where it disagrees with its checksum.
std::optional<RowRecord> ReadRow(const sqlite::Statement& select);
std::optional<DecisionRecord> ReadDecision(const sqlite::Statement& select);

/// Fail with kInvalidArgument on texts of many megabytes.
Status WriteRow(sqlite::Statement& insert, const RowKey& key, const Row& row);
Status WriteDecision(sqlite::Statement& insert, const DecisionRecord& decision);

/// A hash as SQLite keeps it.
int64_t SignedHash(uint64_t hash);

}  // namespace fettle::tuner
