#include "jobs/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fettle::tools {
namespace {

using tuner::Parameter;
using tuner::Point;
using tuner::SearchSpace;
using tuner::Value;

bool IsText(const Value& value) { return std::holds_alternative<std::string>(value); }
double NumberOf(const Value& value) {
  const int64_t* const whole = std::get_if<int64_t>(&value);
  return whole ? static_cast<double>(*whole) : std::get<double>(value);
}

std::vector<Parameter> ParametersOf(const Recording& recording) {
  std::vector<Parameter> parameters;
  for (size_t i = 0; i < recording.names.size(); ++i) {
    Parameter parameter{recording.names[i], {}};
    std::set<Value> seen;
    for (const Recording::Row& row : recording.rows)
      if (seen.insert(row.values[i]).second) parameter.values.push_back(row.values[i]);
    if (std::none_of(parameter.values.begin(), parameter.values.end(), IsText))
      std::stable_sort(parameter.values.begin(), parameter.values.end(),
                       [](const Value& a, const Value& b) { return NumberOf(a) < NumberOf(b); });
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

/// For each parameter of the spec its column in the recording.
Result<std::vector<size_t>> ColumnsOf(const Recording& recording, const KernelSpec& spec) {
  std::vector<size_t> columns;
  std::vector<bool> used(recording.names.size(), false);
  for (const Parameter& parameter : spec.parameters) {
    const auto found = std::find(recording.names.begin(), recording.names.end(), parameter.name);
    if (found == recording.names.end())
      return InvalidArgument("parameter '{}' was not recorded; there are {}", parameter.name,
                             fmt::join(recording.names, ", "));
    columns.push_back(static_cast<size_t>(found - recording.names.begin()));
    used[columns.back()] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const auto differs = [&](const Recording::Row& row) {
      return row.values[i] != recording.rows.front().values[i];
    };
    if (!used[i] && std::any_of(recording.rows.begin(), recording.rows.end(), differs))
      return InvalidArgument("recorded parameter '{}' has several values and is not to be tuned",
                             recording.names[i]);
  }
  return columns;
}

}  // namespace

Result<Replay> Replay::Create(const Recording& recording) {
  return Create(recording, {.kernel = "", .parameters = ParametersOf(recording), .conditions = {}});
}

Result<Replay> Replay::Create(const Recording& recording, const KernelSpec& spec) {
  ASSIGN_OR_RETURN(const std::vector<size_t> columns, ColumnsOf(recording, spec));
  ASSIGN_OR_RETURN(const SearchSpace allowed,
                   SearchSpace::Create(spec.parameters, spec.conditions));
  auto times = std::make_shared<Times>();
  const auto recorded = [times, allowed](const Point& point) {
    return times->contains(allowed.IndexOf(point));
  };
  ASSIGN_OR_RETURN(SearchSpace space,
                   SearchSpace::Create(spec.parameters, spec.conditions, recorded));
  Replay replay(std::move(space));
  for (const Recording::Row& row : recording.rows) {
    std::vector<Value> values;
    for (size_t column : columns) values.push_back(row.values[column]);
    const auto point = allowed.Find(values);
    if (!point.ok() || !allowed.Valid(*point)) continue;
    if (!times->emplace(allowed.IndexOf(*point), row.ms).second) continue;
    ++replay.size_;
    if (row.ms && (replay.best_.empty() || *row.ms < replay.best_ms_)) {
      replay.best_ms_ = *row.ms;
      replay.best_ = *point;
    }
  }
  if (replay.best_.empty())
    return InvalidArgument("none of the {} recorded configurations is valid and has a time",
                           recording.rows.size());
  replay.times_ = std::move(times);
  return replay;
}

std::optional<double> Replay::Measure(const Point& point) const {
  return times_->at(space_.IndexOf(point));
}

}  // namespace fettle::tools
