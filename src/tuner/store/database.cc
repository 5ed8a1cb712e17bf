#include "tuner/store/database.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tuner/store/row_key.h"
#include "tuner/store/schema.h"

namespace fettle::tuner {
namespace {

using sqlite::Connection;
using sqlite::Statement;

/// After a power cut NORMAL may have lost the last rows, never the file. The log is cut back to 4
/// MiB.
constexpr const char* kSettings =
    "PRAGMA synchronous=NORMAL; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; "
    "PRAGMA journal_size_limit=4194304";

/// Where another process may write, locks alone make what is read one state: a log may be begun,
/// and taken into the file, after it was found to be absent. A folder that cannot be written has no
/// room for locks; a file without a log is read without them there.
Result<std::unique_ptr<Connection>> OpenToRead(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code absent;
  const auto log_bytes = std::filesystem::file_size(path + "-wal", absent);
  const bool has_log = !absent && log_bytes > 0;
  const bool has_room = ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0;
  return Connection::Open(
      path, has_log || has_room ? Connection::Access::kRead : Connection::Access::kImmutable);
}

}  // namespace

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Access access) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  // Opening a pipe would wait for its other end.
  if (std::filesystem::exists(std::filesystem::file_status(type)) &&
      type != std::filesystem::file_type::regular)
    return Error(StatusCode::kCorrupt, "{}: not a file", path);
  ASSIGN_OR_RETURN(auto connection, access == Access::kWrite
                                        ? Connection::Open(path, Connection::Access::kWrite)
                                        : OpenToRead(path));
  if (access == Access::kWrite && !connection->writable())
    return Error(StatusCode::kIo, "{}: may not be written", path);
  RETURN_IF_ERROR(connection->Execute(kSettings));
  RETURN_IF_ERROR(access == Access::kSalvage ? CheckRowTable(*connection)
                                             : PrepareSchema(*connection));
  return std::unique_ptr<Database>(new Database(std::move(connection)));
}

Result<Database::Found> Database::Look(const RowKey& key) {
  static const std::string kFind = SelectRows("rows") + " WHERE subject=?1";
  ASSIGN_OR_RETURN(Statement* const find, connection_->Prepared(kFind));
  Found found;
  std::vector<int64_t> damaged;
  RETURN_IF_ERROR(find->Bind(SignedHash(SubjectHash(key))).Run([&] {
    const std::optional<RowRecord> record = ReadRow(*find);
    if (!record) {
      damaged.push_back(find->Int(0));
    } else if (record->key == key) {
      found.exact = record->row;
    } else if (SameSubject(record->key, key) &&
               (!found.prior || record->row.unix_seconds >= found.prior->unix_seconds)) {
      found.prior = record->row;
      found.prior->prior = true;
    }
    return OkStatus();
  }));
  DropDamaged("rows", damaged);
  return found;
}

Result<Row> Database::Find(const RowKey& key) {
  static const std::string kFlights = SelectRows("flights") + " WHERE subject=?1 AND whole=?2";
  ASSIGN_OR_RETURN(Found found, Look(key));
  if (!found.exact) {
    ASSIGN_OR_RETURN(Statement* const flights, connection_->Prepared(kFlights));
    flights->Bind(SignedHash(SubjectHash(key)), SignedHash(KeyHash(key)));
    ASSIGN_OR_RETURN(const int64_t crashes, CollectCrashes(*flights));
    if (crashes > 0) {
      ASSIGN_OR_RETURN(found, Look(key));
    }
  }
  if (found.exact) return *found.exact;
  if (found.prior) return *found.prior;
  return Error(StatusCode::kNotFound, "not measured yet");
}

Status Database::Put(const RowKey& key, const Row& row, Conflict conflict) {
  static const std::string kReplace = InsertRow("rows");
  static const std::string kKeep =
      kReplace + " WHERE NOT EXISTS (SELECT 1 FROM rows WHERE subject=?1 AND whole=?2)";
  static const std::string kKeepYounger =
      kReplace +
      " WHERE NOT EXISTS (SELECT 1 FROM rows WHERE subject=?1 AND whole=?2 AND unix_seconds>=?17)";
  const std::string& sql = conflict == Conflict::kReplace ? kReplace
                           : conflict == Conflict::kKeep  ? kKeep
                                                          : kKeepYounger;
  ASSIGN_OR_RETURN(Statement* const insert, connection_->Prepared(sql));
  return WriteRow(*insert, key, row);
}

Result<std::string> Database::FindDecision(const std::string& key) {
  static const std::string kFind = SelectDecisions() + " WHERE key=?1";
  ASSIGN_OR_RETURN(Statement* const find, connection_->Prepared(kFind));
  std::optional<DecisionRecord> decision;
  std::vector<int64_t> damaged;
  RETURN_IF_ERROR(find->Bind(key).Run([&] {
    decision = ReadDecision(*find);
    if (!decision) damaged.push_back(find->Int(0));
    return OkStatus();
  }));
  DropDamaged("decisions", damaged);
  if (decision && decision->key == key) return decision->text;
  return Error(StatusCode::kNotFound, "not decided yet");
}

Status Database::PutDecision(const DecisionRecord& decision, Conflict conflict) {
  static const std::string kReplace = InsertDecision();
  static const std::string kKeepYounger =
      kReplace + " WHERE NOT EXISTS (SELECT 1 FROM decisions WHERE key=?1 AND unix_seconds>=?3)";
  ASSIGN_OR_RETURN(Statement* const insert,
                   connection_->Prepared(conflict == Conflict::kReplace ? kReplace : kKeepYounger));
  return WriteDecision(*insert, decision);
}

Status Database::Delete(const std::string& table, int64_t line) {
  ASSIGN_OR_RETURN(Statement* const remove,
                   connection_->Prepared("DELETE FROM " + table + " WHERE id=?1"));
  return remove->Bind(line).Run();
}

void Database::DropDamaged(const std::string& table, const std::vector<int64_t>& lines) {
  damaged_ += static_cast<int64_t>(lines.size());
  if (!connection_->writable()) return;
  // One that cannot be deleted is met again, which does no harm.
  for (const int64_t line : lines) (void)Delete(table, line);
}

Status Database::ForEachRow(const std::function<Status(const RowRecord&)>& visit) {
  ASSIGN_OR_RETURN(Statement select, connection_->Prepare(SelectRows("rows") + " ORDER BY id"));
  return select.Run([&] {
    if (const std::optional<RowRecord> record = ReadRow(select)) return visit(*record);
    ++damaged_;
    return OkStatus();
  });
}

Status Database::ForEachDecision(const std::function<Status(const DecisionRecord&)>& visit) {
  ASSIGN_OR_RETURN(Statement select, connection_->Prepare(SelectDecisions() + " ORDER BY id"));
  return select.Run([&] {
    if (const std::optional<DecisionRecord> record = ReadDecision(select)) return visit(*record);
    ++damaged_;
    return OkStatus();
  });
}

}  // namespace fettle::tuner
