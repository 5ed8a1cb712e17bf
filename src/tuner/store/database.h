// The tuning database: one SQLite file of rows, of decisions and of what is in flight. Strict: each
// failure is returned; what becomes of it is decided by store_sqlite.cc and by the commands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/store/records.h"
#include "tuner/store/sqlite.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// What a write does where the key is there already. A decision is never kKeep.
enum class Conflict { kReplace, kKeepYounger, kKeep };

/// Not synchronised; several processes may have one file open.
///
/// What disagrees with its checksum is never handed out: it is counted in damaged() and, where the
/// file can be written, deleted by the Find that meets it.
class Database {
 public:
  enum class Access { kWrite, kRead, kSalvage };
  /// kWrite makes the file where it is absent; kSalvage reads rows of a file whose other tables are
  /// not ours. Fails with kCorrupt on damage and on files of other
  /// programs, kVersionMismatch on a newer schema, kBusy on a lock that stays, kIo.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, Access access);

  /// As Store::Find.
  Result<Row> Find(const RowKey& key);
  Status Put(const RowKey& key, const Row& row, Conflict conflict = Conflict::kReplace);
  Result<std::string> FindDecision(const std::string& key);
  Status PutDecision(const DecisionRecord& decision, Conflict conflict = Conflict::kReplace);

  Status BeginFlight(const RowKey& key);
  Status EndFlight(const RowKey& key);
  /// Turns each flight whose process is gone into a row that says kCrashed, unless its key has a
  /// row by now: then it came through. Returns how many there were; 0 in files that cannot be
  /// written.
  Result<int64_t> CollectCrashes();

  /// In the order in which they were put.
  Status ForEachRow(const std::function<Status(const RowRecord&)>& visit);
  Status ForEachDecision(const std::function<Status(const DecisionRecord&)>& visit);

  sqlite::Connection& connection() { return *connection_; }
  const std::string& path() const { return connection_->path(); }
  int64_t damaged() const { return damaged_; }

 private:
  explicit Database(std::unique_ptr<sqlite::Connection> connection)
      : connection_(std::move(connection)) {}
  struct Found {
    std::optional<Row> exact, prior;
  };
  Result<Found> Look(const RowKey& key);
  /// The lines of a bound select from flights whose process is gone.
  Result<int64_t> CollectCrashes(sqlite::Statement& flights);
  Status LandCrash(int64_t line, const RowRecord& flight);
  Status Delete(const std::string& table, int64_t line);
  void DropDamaged(const std::string& table, const std::vector<int64_t>& lines);

  std::unique_ptr<sqlite::Connection> connection_;
  int64_t damaged_ = 0;
};

}  // namespace fettle::tuner
