#include "remote/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/table.h"

namespace fettle::tools {
namespace {

constexpr auto kRight = Table::Align::kRight;

/// A value below members of an object; null where one is missing.
Json At(const Json& document, std::initializer_list<const char*> path) {
  const Json* at = &document;
  for (const char* name : path) {
    at = Member(*at, name);
    if (at == nullptr) return nullptr;
  }
  return *at;
}

std::string NumberText(const Json& value, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}", value.get<double>(), digits) : "-";
}

std::string TextOf(const Json& value) { return value.is_string() ? value.get<std::string>() : "-"; }

/// The output that is furthest from the reference.
Json WorstOutput(const Json& document) {
  const Json outputs = At(document, {"outputs"});
  Json worst;
  for (const Json& output : outputs.is_array() ? outputs : Json::array())
    if (worst.is_null() || At(output, {"max_abs"}) > At(worst, {"max_abs"})) worst = output;
  return worst;
}

struct SummaryColumn {
  const char* command;
  const char* title;
  std::string (*cell)(const RemoteRow& row);
};

/// What each command's table has beside the target and its device.
constexpr SummaryColumn kSummaryColumns[] = {
    {"tune", "default ms",
     [](const RemoteRow& row) { return NumberText(At(row.document, {"default_ms"}), 3); }},
    {"tune", "tuned ms",
     [](const RemoteRow& row) { return NumberText(At(row.document, {"tuned_ms"}), 3); }},
    {"tune", "speedup",
     [](const RemoteRow& row) { return NumberText(At(row.document, {"speedup"}), 2); }},
    {"tune", "measured",
     [](const RemoteRow& row) { return NumberText(At(row.document, {"measured"}), 0); }},
    {"tune", "s", [](const RemoteRow& row) { return NumberText(row.seconds, 1); }},
    {"bench", "median ms",
     [](const RemoteRow& row) {
       return NumberText(At(row.document, {"latency_ms", "median"}), 3);
     }},
    {"bench", "min",
     [](const RemoteRow& row) {
       return NumberText(At(row.document, {"latency_ms", "min"}), 3);
     }},
    {"bench", "p99",
     [](const RemoteRow& row) {
       return NumberText(At(row.document, {"latency_ms", "p99"}), 3);
     }},
    {"bench", "first",
     [](const RemoteRow& row) { return NumberText(At(row.document, {"first_ms"}), 3); }},
    {"bench", "peak MB",
     [](const RemoteRow& row) {
       const Json bytes = At(row.document, {"peak_rss_bytes"});
       return bytes.is_number() ? fmt::format("{:.1f}", bytes.get<double>() * 1e-6) : "-";
     }},
    {"compare", "worst output",
     [](const RemoteRow& row) { return TextOf(At(WorstOutput(row.document), {"name"})); }},
    {"compare", "max abs",
     [](const RemoteRow& row) {
       const Json value = At(WorstOutput(row.document), {"max_abs"});
       return value.is_number() ? fmt::format("{:.2g}", value.get<double>()) : "-";
     }},
    {"compare", "agrees",
     [](const RemoteRow& row) { return std::string(row.exit_code == 0 ? "yes" : "no"); }},
};

std::string Packages(const std::vector<RemoteRow>& rows) {
  std::string text;
  for (const RemoteRow& row : rows)
    if (!row.package.empty()) text += fmt::format("wrote {}\n", row.package);
  return text;
}

std::string CeilingCell(const Json& ceiling) {
  const Json value = At(ceiling, {"value"});
  if (!value.is_number()) return TextOf(At(ceiling, {"status"}));
  const std::string unit = TextOf(At(ceiling, {"unit"}));
  if (unit.ends_with("/s")) return HumanCount(value.get<double>()) + unit;
  return fmt::format("{:.3g} {}", value.get<double>(), unit);
}

std::string PeakText(const std::vector<RemoteRow>& rows) {
  std::vector<Table::Column> columns = {{.title = "ceiling"}};
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    columns.push_back({.title = rows[i].target, .align = kRight});
    const Json ceilings = At(rows[i].document, {"ceilings"});
    for (const Json& ceiling : ceilings.is_array() ? ceilings : Json::array()) {
      const std::string name = TextOf(At(ceiling, {"name"}));
      auto line = std::ranges::find(lines, name, &decltype(lines)::value_type::first);
      if (line == lines.end())
        line = lines.insert(line, {name, std::vector<std::string>(rows.size(), "-")});
      line->second[i] = CeilingCell(ceiling);
    }
  }
  Table table(columns);
  for (auto& [name, cells] : lines) {
    cells.insert(cells.begin(), name);
    table.Row(cells);
  }
  return lines.empty() ? "" : table.ToString();
}

}  // namespace

std::string SummaryText(const std::string& command, const std::vector<RemoteRow>& rows) {
  if (command == "peak") return PeakText(rows);
  std::vector<Table::Column> columns = {{.title = "target"}, {.title = "device", .leaves = 1}};
  for (const SummaryColumn& column : kSummaryColumns)
    if (command == column.command) columns.push_back({.title = column.title, .align = kRight});
  Table table(columns);
  for (const RemoteRow& row : rows) {
    if (!row.error.empty()) continue;
    std::vector<std::string> cells = {row.target, TextOf(At(row.document, {"device", "name"}))};
    for (const SummaryColumn& column : kSummaryColumns)
      if (command == column.command) cells.push_back(column.cell(row));
    table.Row(cells);
  }
  return (table.empty() ? "" : table.ToString()) + Packages(rows);
}

Json SummaryJson(const std::vector<RemoteRow>& rows) {
  Json remotes = Json::array();
  for (const RemoteRow& row : rows)
    remotes.push_back({{"target", row.target},
                       {"exit_code", row.exit_code},
                       {"error", row.error.empty() ? Json() : Json(row.error)},
                       {"package", row.package.empty() ? Json() : Json(row.package)},
                       {"links", row.links},
                       {"seconds", row.seconds},
                       {"document", row.document}});
  return {{"remotes", remotes}};
}

}  // namespace fettle::tools
