#include "io/tuning_json.h"

#include <fmt/format.h>

#include <cmath>

#include "io/gzip.h"
#include "io/json.h"

namespace fettle::tools {
namespace {

using tuner::Value;

/// Numbers may come as 1e999, which no double holds.
Result<Value> ToValue(const Json& json) {
  if (json.is_boolean()) return Value(int64_t{json.get<bool>()});
  if (json.is_number_integer()) {
    if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX})
      return InvalidArgument("{}: expected a number below 2^63", json.dump());
    return Value(json.get<int64_t>());
  }
  if (json.is_number_float() && std::isfinite(json.get<double>())) return Value(json.get<double>());
  if (json.is_string()) return Value(json.get<std::string>());
  return InvalidArgument("expected a number or a text, got {}", json.type_name());
}

Result<Json> ReadJson(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return InvalidArgument("{}: not JSON", path);
  if (!json.is_object()) return InvalidArgument("{}: expected a JSON object", path);
  return json;
}

std::string TextMember(const Json& json, const char* name) {
  const Json* const member = Member(json, name);
  return member && member->is_string() ? member->get<std::string>() : "";
}
const Json* ListMember(const Json& json, const char* name) {
  const Json* const member = Member(json, name);
  return member && member->is_array() ? member : nullptr;
}

/// T1 keeps lists of values as text, too: "[16, 32]".
Result<std::vector<Value>> ReadValues(const Json* json) {
  Json parsed;
  if (json && json->is_string()) {
    parsed = Json::parse(json->get<std::string>(), nullptr, false);
    json = &parsed;
  }
  if (!json || !json->is_array()) return InvalidArgument("'Values': expected a list");
  std::vector<Value> values;
  for (const Json& item : *json) {
    ASSIGN_OR_RETURN(Value value, ToValue(item));
    values.push_back(std::move(value));
  }
  return values;
}

Status ReadParameter(const Json& json, KernelSpec& spec) {
  tuner::Parameter parameter{TextMember(json, "Name"), {}};
  if (parameter.name.empty())
    return InvalidArgument("parameter #{}: no 'Name'", spec.parameters.size());
  auto values = ReadValues(Member(json, "Values"));
  if (!values.ok())
    return values.status().WithContext(fmt::format("parameter '{}'", parameter.name));
  parameter.values = std::move(*values);
  spec.parameters.push_back(std::move(parameter));
  return OkStatus();
}

Result<KernelSpec> ToKernelSpec(const Json& json) {
  const Json* const space = Member(json, "ConfigurationSpace");
  const Json* const parameters = space ? ListMember(*space, "TuningParameters") : nullptr;
  if (!parameters)
    return InvalidArgument("'ConfigurationSpace': 'TuningParameters': expected a list (T1 format)");
  KernelSpec spec;
  if (const Json* kernel = Member(json, "KernelSpecification"))
    spec.kernel = TextMember(*kernel, "KernelName");
  for (const Json& parameter : *parameters) RETURN_IF_ERROR(ReadParameter(parameter, spec));
  if (const Json* conditions = ListMember(*space, "Conditions")) {
    for (const Json& condition : *conditions) {
      const std::string text = TextMember(condition, "Expression");
      if (text.empty())
        return InvalidArgument("condition #{}: no 'Expression'", spec.conditions.size());
      spec.conditions.push_back(text);
    }
  }
  return spec;
}

/// Reads `json`, an object of values by name; the first row decides which names there are.
Result<std::vector<Value>> ReadConfiguration(const Json& json, std::vector<std::string>& names) {
  if (!json.is_object()) return InvalidArgument("expected an object of parameters");
  if (names.empty())
    for (const auto& item : json.items()) names.push_back(item.key());
  if (names.empty()) return InvalidArgument("no parameters");
  std::vector<Value> values;
  for (const std::string& name : names) {
    const Json* const member = Member(json, name.c_str());
    if (!member) return InvalidArgument("parameter '{}' is missing", name);
    auto value = ToValue(*member);
    if (!value.ok()) return value.status().WithContext(fmt::format("parameter '{}'", name));
    values.push_back(std::move(*value));
  }
  return values;
}

std::optional<double> ToTime(const Json* json, double scale) {
  if (!json || !json->is_number()) return std::nullopt;
  const double ms = json->get<double>() * scale;
  return std::isfinite(ms) && ms > 0 ? std::optional(ms) : std::nullopt;
}

/// Milliseconds in the unit; files in use spell them in these ways. None for others.
std::optional<double> UnitInMs(const std::string& unit) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                                   {"ms", 1},
                                                                   {"milliseconds", 1},
                                                                   {"miliseconds", 1},
                                                                   {"s", 1e3},
                                                                   {"seconds", 1e3},
                                                                   {"us", 1e-3},
                                                                   {"microseconds", 1e-3},
                                                                   {"ns", 1e-6},
                                                                   {"nanoseconds", 1e-6}};
  for (const auto& [name, ms] : kUnits)
    if (name == unit) return ms;
  return std::nullopt;
}

/// The measurement named by the first objective, "time" where none is named.
Result<Recording::Row> ReadT4Row(const Json& json, double file_unit, Recording& recording) {
  Recording::Row row;
  const Json* const configuration = Member(json, "configuration");
  if (!configuration) return InvalidArgument("no 'configuration'");
  ASSIGN_OR_RETURN(row.values, ReadConfiguration(*configuration, recording.names));
  if (TextMember(json, "invalidity") != "correct") return row;
  const Json* const objectives = ListMember(json, "objectives");
  const std::string objective = objectives && !objectives->empty() && (*objectives)[0].is_string()
                                    ? (*objectives)[0].get<std::string>()
                                    : "time";
  const Json* const measurements = ListMember(json, "measurements");
  if (!measurements) return InvalidArgument("no list 'measurements'");
  for (const Json& measurement : *measurements) {
    if (TextMember(measurement, "name") != objective) continue;
    const std::string unit = TextMember(measurement, "unit");
    const std::optional<double> scale = unit.empty() ? file_unit : UnitInMs(unit);
    if (!scale) return InvalidArgument("unit '{}' of '{}': expected ms|s|us|ns", unit, objective);
    row.ms = ToTime(Member(measurement, "value"), *scale);
  }
  return row;
}

Result<Recording> ReadT4(const Json& json, const Json& results) {
  const Json* const metadata = Member(json, "metadata");
  const std::string unit = metadata ? TextMember(*metadata, "timeunit") : "";
  const std::optional<double> scale = UnitInMs(unit);
  if (!scale) return InvalidArgument("timeunit '{}': expected ms|s|us|ns", unit);
  Recording recording;
  for (const Json& result : results) {
    auto row = ReadT4Row(result, *scale, recording);
    if (!row.ok())
      return row.status().WithContext(fmt::format("result #{}", recording.rows.size()));
    recording.rows.push_back(std::move(*row));
  }
  return recording;
}

/// Failed configurations have a word in the place of a time.
Result<Recording> ReadKernelTunerCache(const Json& json, const Json& cache) {
  Recording recording;
  const Json* const keys = ListMember(json, "tune_params_keys");
  if (!keys) return InvalidArgument("no list 'tune_params_keys'");
  for (const Json& key : *keys) {
    if (!key.is_string()) return InvalidArgument("'tune_params_keys': expected texts");
    recording.names.push_back(key.get<std::string>());
  }
  for (const auto& [key, entry] : cache.items()) {
    auto values = ReadConfiguration(entry, recording.names);
    if (!values.ok()) return values.status().WithContext(fmt::format("cache entry '{}'", key));
    recording.rows.push_back({std::move(*values), ToTime(Member(entry, "time"), 1)});
  }
  return recording;
}

Result<Recording> ToRecording(const Json& json) {
  if (const Json* results = ListMember(json, "results")) return ReadT4(json, *results);
  const Json* const cache = Member(json, "cache");
  if (cache && cache->is_object()) return ReadKernelTunerCache(json, *cache);
  return InvalidArgument("neither a list 'results' (T4) nor an object 'cache' (Kernel Tuner)");
}

Json ValueJson(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

}  // namespace

Result<KernelSpec> ReadKernelSpec(const std::string& path) {
  ASSIGN_OR_RETURN(const Json json, ReadJson(path));
  auto spec = ToKernelSpec(json);
  if (!spec.ok()) return spec.status().WithContext(path);
  return spec;
}

Result<Recording> ReadRecording(const std::string& path) {
  ASSIGN_OR_RETURN(const Json json, ReadJson(path));
  auto recording = ToRecording(json);
  if (!recording.ok()) return recording.status().WithContext(path);
  if (recording->rows.empty()) return InvalidArgument("{}: no measurements", path);
  return recording;
}

std::string PrintT4(const tuner::SearchSpace& space,
                    const std::vector<tuner::Evaluation>& evaluations) {
  Json results = Json::array();
  for (const tuner::Evaluation& evaluation : evaluations) {
    Json configuration = Json::object();
    for (int i = 0; i < space.dimensions(); ++i)
      configuration[space.parameters()[static_cast<size_t>(i)].name] =
          ValueJson(space.ValueOf(evaluation.point, i));
    Json measurements = Json::array();
    if (evaluation.ms)
      measurements.push_back({{"name", "time"}, {"value", *evaluation.ms}, {"unit", "ms"}});
    results.push_back({{"configuration", configuration},
                       {"invalidity", evaluation.ms ? "correct" : "runtime"},
                       {"correctness", evaluation.ms ? 1 : 0},
                       {"measurements", measurements},
                       {"objectives", {"time"}}});
  }
  const Json document = {{"schema_version", "1.0.0"},
                         {"metadata", {{"timeunit", "milliseconds"}}},
                         {"results", results}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fettle::tools
