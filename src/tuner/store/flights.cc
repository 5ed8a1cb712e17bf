// What is in flight: the first build and launch of an unknown program, which may take the process
// with it.
#include <optional>

#include "tuner/store/database.h"
#include "tuner/store/owner.h"
#include "tuner/store/row_key.h"

namespace fettle::tuner {

using sqlite::Statement;

Status Database::BeginFlight(const RowKey& key) {
  static const std::string kBegin = InsertRow("flights");
  ASSIGN_OR_RETURN(Statement* const begin, connection_->Prepared(kBegin));
  const Row flight = {
      .status = Row::Status::kCrashed, .reason = ThisProcess(), .unix_seconds = UnixNow()};
  return WriteRow(*begin, key, flight);
}

Status Database::EndFlight(const RowKey& key) {
  ASSIGN_OR_RETURN(
      Statement* const end,
      connection_->Prepared("DELETE FROM flights WHERE subject=?1 AND whole=?2 AND reason=?3"));
  return end->Bind(SignedHash(SubjectHash(key)), SignedHash(KeyHash(key)), ThisProcess()).Run();
}

Result<int64_t> Database::CollectCrashes() {
  static const std::string kAll = SelectRows("flights");
  ASSIGN_OR_RETURN(Statement* const all, connection_->Prepared(kAll));
  return CollectCrashes(*all);
}

Result<int64_t> Database::CollectCrashes(Statement& flights) {
  if (!connection_->writable()) return 0;
  std::vector<std::pair<int64_t, RowRecord>> crashes;
  std::vector<int64_t> damaged;
  RETURN_IF_ERROR(flights.Run([&] {
    const std::optional<RowRecord> flight = ReadRow(flights);
    if (!flight) {
      damaged.push_back(flights.Int(0));
    } else if (IsGone(flight->row.reason, UnixNow() - flight->row.unix_seconds)) {
      crashes.emplace_back(flights.Int(0), *flight);
    }
    return OkStatus();
  }));
  DropDamaged("flights", damaged);
  for (const auto& [line, flight] : crashes) RETURN_IF_ERROR(LandCrash(line, flight));
  return static_cast<int64_t>(crashes.size());
}

Status Database::LandCrash(int64_t line, const RowRecord& flight) {
  ASSIGN_OR_RETURN(sqlite::Transaction transaction, sqlite::Transaction::Begin(*connection_));
  ASSIGN_OR_RETURN(const Found found, Look(flight.key));
  const bool again = found.exact && found.exact->status == Row::Status::kCrashed;
  Row crash = flight.row;
  crash.samples = again ? found.exact->samples + 1 : 1;
  crash.reason =
      fmt::format("the process that ran it {} died ({})",
                  again ? fmt::format("for the {}. time", crash.samples) : "first", crash.reason);
  RETURN_IF_ERROR(Put(flight.key, crash, again ? Conflict::kReplace : Conflict::kKeep));
  RETURN_IF_ERROR(Delete("flights", line));
  return transaction.Commit();
}

}  // namespace fettle::tuner
