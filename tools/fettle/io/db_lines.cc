#include "io/db_lines.h"

#include <array>
#include <cmath>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <vector>

#include "tuner/store/row_key.h"

namespace fettle::tools {
namespace {

using tuner::DecisionRecord;
using tuner::Row;
using tuner::RowRecord;

constexpr const char* kHeaderField = "fettle_tuning";
constexpr int kFormat = 1;
constexpr size_t kLongestLine = 32 << 20;

constexpr std::array<const char*, 5> kStatusNames = {"ok", "wrong", "failed", "crashed", "stopped"};

/// Reads the fields of one object; the first that is wrong makes the status.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  std::string Text(const char* name) {
    const Json* value = Find(name, "a text", [](const Json& json) { return json.is_string(); });
    return value == nullptr ? "" : value->get<std::string>();
  }

  int64_t Integer(const char* name, int64_t most = std::numeric_limits<int>::max()) {
    const auto fits = [most](const Json& json) {
      return json.is_number_unsigned() && json.get<uint64_t>() <= static_cast<uint64_t>(most);
    };
    const Json* value = Find(name, fmt::format("an integer from 0 to {}", most), fits);
    return value == nullptr ? 0 : value->get<int64_t>();
  }

  double Number(const char* name) {
    const auto fits = [](const Json& json) {
      return json.is_null() || (json.is_number() && json.get<double>() >= 0);
    };
    const Json* value = Find(name, "a number from 0 or null", fits);
    if (value == nullptr) return 0;
    return value->is_null() ? std::numeric_limits<double>::infinity() : value->get<double>();
  }

  Row::Status StatusOf(const char* name) {
    const std::string text = Text(name);
    for (size_t i = 0; i < kStatusNames.size(); ++i)
      if (text == kStatusNames[i]) return static_cast<Row::Status>(i);
    Refuse(name, "ok, wrong, failed, crashed or stopped");
    return Row::Status::kFailed;
  }

  const Status& status() const { return status_; }

 private:
  template <typename Fits>
  const Json* Find(const char* name, const std::string& expected, Fits fits) {
    const auto value = object_.find(name);
    if (value != object_.end() && fits(*value)) return &*value;
    Refuse(name, expected);
    return nullptr;
  }

  void Refuse(const char* name, const std::string& expected) {
    if (status_.ok()) status_ = InvalidArgument("'{}': expected {}", name, expected);
  }

  const Json& object_;
  Status status_;
};

Status PutRow(Fields fields, tuner::Database& database) {
  const tuner::RowKey key = {.problem = fields.Text("problem"),
                             .kernel = fields.Text("kernel"),
                             .version = static_cast<int>(fields.Integer("version")),
                             .params = fields.Text("params"),
                             .device = fields.Text("device"),
                             .protocol = static_cast<int>(fields.Integer("protocol")),
                             .build = fields.Text("build")};
  Row row = {.status = fields.StatusOf("status"),
             .median_us = fields.Number("median_us"),
             .mad_us = fields.Number("mad_us"),
             .low_us = fields.Number("low_us"),
             .samples = static_cast<int>(fields.Integer("samples")),
             .error = fields.Number("error"),
             .reason = fields.Text("reason"),
             .unix_seconds = fields.Integer("unix_seconds", std::numeric_limits<int64_t>::max())};
  RETURN_IF_ERROR(fields.status());
  row.unix_seconds = std::min(row.unix_seconds, tuner::UnixNow());
  return database.Put(key, row, tuner::Conflict::kKeepYounger);
}

Status PutDecision(Fields fields, tuner::Database& database) {
  DecisionRecord decision = {fields.Text("decision"), fields.Text("text"),
                             fields.Integer("unix_seconds", std::numeric_limits<int64_t>::max())};
  RETURN_IF_ERROR(fields.status());
  decision.unix_seconds = std::min(decision.unix_seconds, tuner::UnixNow());
  return database.PutDecision(decision, tuner::Conflict::kKeepYounger);
}

Status CheckHeader(const Json& object) {
  const auto format = object.find(kHeaderField);
  if (format == object.end() || !format->is_number_unsigned())
    return InvalidArgument("expected {{\"{}\": {}}} first", kHeaderField, kFormat);
  if (*format > kFormat)
    return Error(StatusCode::kVersionMismatch,
                 "made by a newer Fettle (format {}, this one reads {})", format->dump(), kFormat);
  return OkStatus();
}

/// The next line, or nothing at the end. Never holds more than the longest line.
Result<std::optional<std::string>> NextLine(std::istream& in, std::string& buffer) {
  buffer.resize(kLongestLine);
  in.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
  const auto read = static_cast<size_t>(in.gcount());
  if (in.bad()) return Error(StatusCode::kIo, "cannot be read");
  if (in.eof() && read == 0) return std::nullopt;
  if (in.fail()) return InvalidArgument("longer than {} bytes", kLongestLine);
  // The count includes the newline, where there was one.
  return std::make_optional(buffer.substr(0, in.eof() ? read : read - 1));
}

Status ImportLine(const std::string& line, bool first, tuner::Database& database,
                  LineCounts& counts) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return InvalidArgument("expected a JSON object");
  if (first) return CheckHeader(object);
  const bool decision = object.contains("decision");
  ++(decision ? counts.decisions : counts.rows);
  return decision ? PutDecision(Fields(object), database) : PutRow(Fields(object), database);
}

/// Writes the object on one line; false where JSON cannot hold it.
bool WriteLine(const Json& object, std::ostream& out) {
  try {
    out << object.dump() << '\n';
  } catch (const Json::type_error&) {
    return false;
  }
  return true;
}

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string StatusName(Row::Status status) { return kStatusNames.at(static_cast<size_t>(status)); }

Json RowJson(const RowRecord& record) {
  const auto& [key, row] = record;
  return {{"problem", key.problem},
          {"kernel", key.kernel},
          {"version", key.version},
          {"params", key.params},
          {"device", key.device},
          {"protocol", key.protocol},
          {"build", key.build},
          {"status", StatusName(row.status)},
          {"median_us", NumberOrNull(row.median_us)},
          {"mad_us", NumberOrNull(row.mad_us)},
          {"low_us", NumberOrNull(row.low_us)},
          {"samples", row.samples},
          {"error", NumberOrNull(row.error)},
          {"reason", row.reason},
          {"unix_seconds", row.unix_seconds}};
}

Result<LineCounts> ExportLines(tuner::Database& database, std::ostream& out) {
  LineCounts counts;
  WriteLine({{kHeaderField, kFormat}}, out);
  RETURN_IF_ERROR(database.ForEachRow([&](const RowRecord& record) {
    ++(WriteLine(RowJson(record), out) ? counts.rows : counts.unprintable);
    return OkStatus();
  }));
  RETURN_IF_ERROR(database.ForEachDecision([&](const DecisionRecord& record) {
    const Json object = {
        {"decision", record.key}, {"text", record.text}, {"unix_seconds", record.unix_seconds}};
    ++(WriteLine(object, out) ? counts.decisions : counts.unprintable);
    return OkStatus();
  }));
  out.flush();
  if (!out) return Error(StatusCode::kIo, "cannot be written");
  return counts;
}

Result<LineCounts> ImportLines(std::istream& in, const std::string& name,
                               tuner::Database& database) {
  LineCounts counts;
  ASSIGN_OR_RETURN(auto transaction, tuner::sqlite::Transaction::Begin(database.connection()));
  std::string buffer;
  for (int64_t number = 1;; ++number) {
    const std::string place = fmt::format("{}: line {}", name, number);
    const auto line = NextLine(in, buffer);
    if (!line.ok()) return line.status().WithContext(place);
    if (!line->has_value()) {
      if (number == 1) return InvalidArgument("{}: empty", name);
      break;
    }
    const Status status = ImportLine(**line, number == 1, database, counts);
    if (!status.ok()) return status.WithContext(place);
  }
  RETURN_IF_ERROR(transaction.Commit());
  return counts;
}

}  // namespace fettle::tools
