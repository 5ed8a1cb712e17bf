#include "report/ceiling_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "io/gzip.h"
#include "report/nominal.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

using kernels::Ceiling;

bool IsRate(std::string_view unit) { return unit.ends_with("/s"); }

std::string ValueText(double value, std::string_view unit) {
  return IsRate(unit) ? fmt::format("{:.1f}", value * 1e-9) : fmt::format("{:.2f}", value);
}

/// Those that are there once, in the order in which they come.
template <typename Part>
std::vector<std::string> Distinct(const std::vector<const Ceiling*>& group, Part part) {
  std::vector<std::string> all;
  for (const Ceiling* one : group)
    if (std::find(all.begin(), all.end(), part(*one)) == all.end()) all.push_back(part(*one));
  return all;
}

/// "arithmetic, G/s": what the values of a group are in.
std::string GroupTitle(const Ceiling& first) {
  if (IsRate(first.unit))
    return fmt::format("{}, G{}", first.group, first.unit == "B/s" ? "B/s" : "/s");
  return std::string(first.group);
}

std::string GroupText(const std::vector<const Ceiling*>& group, std::string_view device) {
  constexpr auto kRight = Table::Align::kRight;
  const std::vector<std::string> columns =
      Distinct(group, [](const Ceiling& one) { return one.column; });
  std::vector<Table::Column> titles = {{GroupTitle(*group[0])}};
  for (size_t c = 0; c < columns.size(); ++c)
    titles.push_back(
        {.title = columns[c], .align = kRight, .leaves = static_cast<int>(columns.size() - c) + 1});
  titles.push_back({.title = "spread", .align = kRight, .leaves = 1});
  const auto nominal = [&](const Ceiling& one) { return NominalValue(device, one.name); };
  const bool has_nominal = std::any_of(group.begin(), group.end(),
                                       [&](const Ceiling* one) { return nominal(*one) > 0; });
  if (has_nominal) titles.push_back({"nominal", kRight});
  Table table(titles);
  for (const std::string& row : Distinct(group, [](const Ceiling& one) { return one.row; })) {
    std::vector<std::string> cells(titles.size());
    cells[0] = row;
    double spread = 0;
    for (const Ceiling* one : group) {
      if (one->row != row) continue;
      const size_t column =
          std::find(columns.begin(), columns.end(), one->column) - columns.begin();
      cells[1 + column] = ValueText(one->value, one->unit);
      spread = std::max(spread, one->spread);
      if (nominal(*one) > 0) cells.back() = ValueText(nominal(*one), one->unit);
    }
    cells[1 + columns.size()] = fmt::format("{:.1f} %", 100 * spread);
    table.Row(std::move(cells));
  }
  return table.ToString();
}

const Json* FindRow(const Json& ceilings, std::string_view name) {
  for (const Json& row : ceilings) {
    const Json* found = Member(row, "name");
    if (found != nullptr && found->is_string() && found->get_ref<const std::string&>() == name)
      return &row;
  }
  return nullptr;
}

/// How much faster now than then; 0 where either is not known.
double Ratio(const Json& base, const Ceiling& now) {
  const Json* value = Member(base, "value");
  if (value == nullptr || !value->is_number() || value->get<double>() <= 0 || now.value <= 0)
    return 0;
  const double before = value->get<double>();
  return kernels::IsTime(now.unit) ? before / now.value : now.value / before;
}

std::string CsvText(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Result<BaseCeilings> ReadBase(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  const Json document = Json::parse(text, nullptr, false);
  const Json* ceilings = Member(document, "ceilings");
  const Json* device = Member(document, "device");
  if (ceilings == nullptr || !ceilings->is_array() || device == nullptr || !device->is_object())
    return InvalidArgument("{}: not the JSON of an earlier peak", path);
  return BaseCeilings{path, *device, *ceilings};
}

Status CheckBase(const BaseCeilings& base, const Json& device) {
  const auto text = [](const Json& json, const char* name) {
    const Json* value = Member(json, name);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  };
  if (text(base.device, "kind") == text(device, "kind") &&
      text(base.device, "name") == text(device, "name"))
    return OkStatus();
  return Unsupported("{}: of another device, '{}', not of '{}'", base.path,
                     text(base.device, "name"), text(device, "name"));
}

std::string_view StatusWord(const Status& status) {
  if (status.ok()) return "ok";
  return status.code() == StatusCode::kUnsupported ? "unsupported" : "error";
}

Json CeilingsJson(std::span<const Ceiling> ceilings, std::string_view device,
                  const BaseCeilings* base) {
  Json rows = Json::array();
  for (const Ceiling& ceiling : ceilings) {
    const bool known = ceiling.status.ok();
    Json row = {{"name", ceiling.name},
                {"group", ceiling.group},
                {"value", known ? Json(ceiling.value) : Json(nullptr)},
                {"unit", ceiling.unit},
                {"best", known ? Json(ceiling.bound()) : Json(nullptr)},
                {"spread", known ? Json(ceiling.spread) : Json(nullptr)},
                {"repeats", ceiling.repeats},
                {"status", StatusWord(ceiling.status)}};
    if (!known) row["reason"] = ceiling.status.message();
    if (const double nominal = NominalValue(device, ceiling.name); nominal > 0)
      row["nominal"] = nominal;
    const Json* before = base == nullptr ? nullptr : FindRow(base->ceilings, ceiling.name);
    if (const double ratio = before == nullptr ? 0 : Ratio(*before, ceiling); ratio > 0) {
      row["base"] = before->at("value");
      row["ratio"] = ratio;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string CeilingsText(std::span<const Ceiling> ceilings, std::string_view device) {
  std::vector<std::string_view> order;
  std::map<std::string_view, std::vector<const Ceiling*>> groups;
  std::string reasons;
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.status.ok()) {
      reasons += Fit(fmt::format("{}: {}: {}", ceiling.name, StatusWord(ceiling.status),
                                 ceiling.status.message())) +
                 "\n";
      continue;
    }
    if (!groups.contains(ceiling.group)) order.push_back(ceiling.group);
    groups[ceiling.group].push_back(&ceiling);
  }
  std::string text;
  for (const std::string_view group : order) text += GroupText(groups[group], device) + "\n";
  return text + reasons + (reasons.empty() ? "" : "\n");
}

std::string CeilingsCsv(const Json& ceilings) {
  static constexpr const char* kFields[] = {"name",    "group",  "value",  "unit", "best", "spread",
                                            "repeats", "status", "reason", "base", "ratio"};
  std::string text;
  for (const char* field : kFields) text += fmt::format("{}{}", text.empty() ? "" : ",", field);
  text += "\n";
  for (const Json& row : ceilings) {
    std::string line;
    for (const char* field : kFields) {
      const Json* value = Member(row, field);
      if (field != kFields[0]) line += ",";
      if (value != nullptr) line += CsvText(*value);
    }
    text += line + "\n";
  }
  return text;
}

std::string ComparisonText(const Json& ceilings, const std::string& path) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{fmt::format("against {}", path)},
               {"unit"},
               {"before", kRight},
               {"now", kRight},
               {"faster", kRight}});
  int64_t without = 0;
  for (const Json& row : ceilings) {
    const Json* ratio = Member(row, "ratio");
    without += ratio == nullptr ? 1 : 0;
    if (ratio == nullptr) continue;
    const auto unit = row["unit"].get<std::string>();
    table.Row({row["name"].get<std::string>(), (IsRate(unit) ? "G" : "") + unit,
               ValueText(row["base"].get<double>(), unit),
               ValueText(row["value"].get<double>(), unit),
               fmt::format("{:.2f}x", ratio->get<double>())});
  }
  return table.ToString() +
         (without > 0 ? fmt::format("{} without a figure in both\n", Count(without, "row")) : "");
}

double ClockChange(std::span<const Ceiling> ceilings) {
  double least = 0, most = 0;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.group != "clock" || !ceiling.status.ok()) continue;
    least = least == 0 ? ceiling.value : std::min(least, ceiling.value);
    most = std::max(most, ceiling.value);
  }
  return most > 0 ? 1 - least / most : 0;
}

}  // namespace fettle::tools
