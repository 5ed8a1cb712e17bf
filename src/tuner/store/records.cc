#include "tuner/store/records.h"

#include <bit>

#include "base/hash.h"
#include "tuner/store/row_key.h"

namespace fettle::tuner {
namespace {

/// Of rows and flights; ReadRow counts them from 1 behind the id, WriteRow from ?3 behind the
/// hashes.
constexpr const char* kRowColumns =
    "problem, kernel, version, params, device, protocol, build, status, median_us, mad_us, low_us, "
    "samples, error, reason, unix_seconds, checksum";

/// Longer ones are no keys of ours, and SQLite would refuse them as it refuses damage.
constexpr size_t kLongestLine = 16 << 20;

Status CheckLength(size_t bytes) {
  if (bytes <= kLongestLine) return OkStatus();
  return InvalidArgument("a line of {} bytes: the tuning database takes up to {}", bytes,
                         kLongestLine);
}

uint64_t DecisionChecksum(const DecisionRecord& decision) {
  const std::string start = fmt::format("{} {} ", decision.unix_seconds, decision.key.size());
  return HashText(start + decision.key + decision.text);
}

}  // namespace

int64_t SignedHash(uint64_t hash) { return std::bit_cast<int64_t>(hash); }

std::string SelectRows(const std::string& table) {
  return fmt::format("SELECT id, {} FROM {}", kRowColumns, table);
}

std::string InsertRow(const std::string& table) {
  return fmt::format(
      "INSERT OR REPLACE INTO {} (subject, whole, {}) SELECT "
      "?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18",
      table, kRowColumns);
}

std::string SelectDecisions() {
  return "SELECT id, key, text, unix_seconds, checksum FROM decisions";
}

std::string InsertDecision() {
  return "INSERT OR REPLACE INTO decisions (key, text, unix_seconds, checksum) SELECT ?1,?2,?3,?4";
}

std::optional<RowRecord> ReadRow(const sqlite::Statement& select) {
  RowRecord record;
  record.key = {.problem = std::string(select.Text(1)),
                .kernel = std::string(select.Text(2)),
                .version = static_cast<int>(select.Int(3)),
                .params = std::string(select.Text(4)),
                .device = std::string(select.Text(5)),
                .protocol = static_cast<int>(select.Int(6)),
                .build = std::string(select.Text(7))};
  record.row = {.status = static_cast<Row::Status>(select.Int(8)),
                .median_us = select.Real(9),
                .mad_us = select.Real(10),
                .low_us = select.Real(11),
                .samples = static_cast<int>(select.Int(12)),
                .error = select.Real(13),
                .reason = std::string(select.Text(14)),
                .unix_seconds = select.Int(15)};
  const bool known = select.Int(8) >= 0 && select.Int(8) <= static_cast<int>(Row::Status::kStopped);
  if (!known || SignedHash(Checksum(record.key, record.row)) != select.Int(16)) return std::nullopt;
  return record;
}

std::optional<DecisionRecord> ReadDecision(const sqlite::Statement& select) {
  DecisionRecord decision{std::string(select.Text(1)), std::string(select.Text(2)), select.Int(3)};
  if (SignedHash(DecisionChecksum(decision)) != select.Int(4)) return std::nullopt;
  return decision;
}

Status WriteRow(sqlite::Statement& insert, const RowKey& key, const Row& row) {
  const Row stored = Stored(key, row);
  RETURN_IF_ERROR(CheckLength(key.problem.size() + key.kernel.size() + key.params.size() +
                              key.device.size() + key.build.size() + row.reason.size()));
  return insert
      .Bind(SignedHash(SubjectHash(key)), SignedHash(KeyHash(key)), key.problem, key.kernel,
            key.version, key.params, key.device, key.protocol, key.build,
            static_cast<int>(stored.status), stored.median_us, stored.mad_us, stored.low_us,
            stored.samples, stored.error, stored.reason, stored.unix_seconds,
            SignedHash(Checksum(key, stored)))
      .Run();
}

Status WriteDecision(sqlite::Statement& insert, const DecisionRecord& decision) {
  RETURN_IF_ERROR(CheckLength(decision.key.size() + decision.text.size()));
  return insert
      .Bind(decision.key, decision.text, decision.unix_seconds,
            SignedHash(DecisionChecksum(decision)))
      .Run();
}

}  // namespace fettle::tuner
