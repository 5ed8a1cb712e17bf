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
/// 1: what is no time stood in fields of times, a ceiling's unit in its reason.
constexpr int kFormat = 2;
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

  template <typename Int = int>
  Int Integer(const char* name) {
    constexpr int64_t kMost = std::numeric_limits<Int>::max(), kLeast = -kMost - 1;
    const auto fits = [](const Json& json) {
      if (json.is_number_unsigned()) return json.get<uint64_t>() <= uint64_t{kMost};
      return json.is_number_integer() && json.get<int64_t>() >= kLeast;
    };
    const Json* value = Find(name, fmt::format("an integer of {} bits", 8 * sizeof(Int)), fits);
    return value == nullptr ? 0 : value->get<Int>();
  }

  bool Has(const char* name) const { return object_.contains(name); }

  /// Null is infinite.
  double Number(const char* name, double least = 0) {
    const auto fits = [least](const Json& json) {
      return json.is_null() || (json.is_number() && json.get<double>() >= least);
    };
    const Json* value =
        Find(name, least < 0 ? "a number or null" : "a number from 0 or null", fits);
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

/// The fields of a row that hold its figures: of times, and of what is none.
struct FigureNames {
  const char *median, *spread, *bound, *text;
};
constexpr FigureNames kTimes = {"median_us", "mad_us", "low_us", "reason"};
constexpr FigureNames kOthers = {"value", "spread", "bound", "unit"};

Status PutRow(Fields fields, tuner::Database& database) {
  const tuner::RowKey key = {.problem = fields.Text("problem"),
                             .kernel = fields.Text("kernel"),
                             .version = fields.Integer("version"),
                             .params = fields.Text("params"),
                             .device = fields.Text("device"),
                             .protocol = fields.Integer("protocol"),
                             .build = fields.Text("build")};
  const bool is_timed = tuner::IsTimed(key);
  // Format 1 names figures of all rows as those of times.
  const bool has_unit = !is_timed && fields.Has(kOthers.text);
  const FigureNames& names = has_unit ? kOthers : kTimes;
  const double least = is_timed ? 0 : -std::numeric_limits<double>::max();
  Row row = {.status = fields.StatusOf("status"),
             .median_us = fields.Number(names.median, least),
             .mad_us = fields.Number(names.spread, least),
             .low_us = fields.Number(names.bound, least),
             .samples = fields.Integer("samples"),
             .error = fields.Number("error"),
             .unix_seconds = fields.Integer<int64_t>("unix_seconds")};
  if (!has_unit || fields.Has(kTimes.text))
    row.reason = fields.Text(kTimes.text);
  else if (tuner::IsCeiling(key))
    row.reason = fields.Text(kOthers.text);
  RETURN_IF_ERROR(fields.status());
  row.unix_seconds = std::min(row.unix_seconds, tuner::UnixNow());
  return database.Put(key, row, tuner::Conflict::kKeepYounger);
}

Status PutDecision(Fields fields, tuner::Database& database) {
  DecisionRecord decision = {fields.Text("decision"), fields.Text("text"),
                             fields.Integer<int64_t>("unix_seconds")};
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

/// Goes on behind the rest of a line that is too long; false where it does not end.
bool SkipLine(std::istream& in) {
  constexpr std::streamsize kMost = 1 << 28;
  in.clear();
  in.ignore(kMost, '\n');
  return in.good() ? in.gcount() < kMost : in.eof();
}

Status ImportLine(const std::string& line, tuner::Database& database, LineCounts& counts) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return InvalidArgument("expected a JSON object");
  const bool decision = object.contains("decision");
  RETURN_IF_ERROR(decision ? PutDecision(Fields(object), database)
                           : PutRow(Fields(object), database));
  ++(decision ? counts.decisions : counts.rows);
  return OkStatus();
}

/// Reads the first line.
Status ImportHeader(std::istream& in, const std::string& name, std::string& buffer) {
  const auto line = NextLine(in, buffer);
  const std::string place = name + ": line 1";
  if (!line.ok()) return line.status().WithContext(place);
  if (!line->has_value()) return InvalidArgument("{}: empty", name);
  const Json object = Json::parse(**line, nullptr, /*allow_exceptions=*/false);
  const Status status =
      object.is_object() ? CheckHeader(object) : InvalidArgument("expected a JSON object");
  return status.ok() ? status : status.WithContext(place);
}

/// Counts and names what is wrong about a line; fails where the file or the database is.
Status Refuse(const Status& status, const std::string& place, LineCounts& counts) {
  constexpr int64_t kMostNamed = 10;
  if (status.code() != StatusCode::kInvalidArgument) return status.WithContext(place);
  if (++counts.refused <= kMostNamed)
    counts.warnings.emplace_back(status.WithContext(place).message());
  else
    counts.warnings.resize(kMostNamed);
  if (counts.refused > kMostNamed)
    counts.warnings.push_back(
        fmt::format("and {} more lines are not imported", counts.refused - kMostNamed));
  return OkStatus();
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
  const FigureNames& names = tuner::IsTimed(key) ? kTimes : kOthers;
  Json json = {{"problem", key.problem},
               {"kernel", key.kernel},
               {"version", key.version},
               {"params", key.params},
               {"device", key.device},
               {"protocol", key.protocol},
               {"build", key.build},
               {"status", StatusName(row.status)},
               {names.median, NumberOrNull(row.median_us)},
               {names.spread, NumberOrNull(row.mad_us)},
               {names.bound, NumberOrNull(row.low_us)},
               {"samples", row.samples},
               {"error", NumberOrNull(row.error)},
               {"unix_seconds", row.unix_seconds}};
  if (!tuner::IsTimed(key)) json["unit"] = tuner::UnitOf(key, row);
  if (!tuner::IsCeiling(key)) json["reason"] = row.reason;
  return json;
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
  RETURN_IF_ERROR(ImportHeader(in, name, buffer));
  for (int64_t number = 2;; ++number) {
    const auto line = NextLine(in, buffer);
    if (line.ok() && !line->has_value()) break;
    const std::string place = fmt::format("{}: line {}", name, number);
    if (!line.ok() && !SkipLine(in)) return line.status().WithContext(place);
    const Status status = line.ok() ? ImportLine(**line, database, counts) : line.status();
    if (!status.ok()) RETURN_IF_ERROR(Refuse(status, place, counts));
  }
  if (counts.refused > 0 && counts.rows + counts.decisions == 0)
    return InvalidArgument("{}", counts.warnings.front());
  RETURN_IF_ERROR(transaction.Commit());
  return counts;
}

}  // namespace fettle::tools
