#include "report/package_facts.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <string_view>

#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

std::string Created(int64_t unix_seconds) {
  // Years past 9999 are no time stamps.
  constexpr int64_t kEnd = 253402300800;
  if (unix_seconds <= 0 || unix_seconds >= kEnd) return "unknown";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<time_t>(unix_seconds)));
}

Json TimeJson(double ms) { return ms > 0 ? NumberJson(ms) : Json(nullptr); }
std::string TimeText(double ms) { return ms > 0 ? fmt::format("{:.3f} ms", ms) : "not measured"; }

/// Lines of a decision's text that begin with `word`.
int64_t CountLines(std::string_view text, std::string_view word) {
  int64_t count = 0;
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    count += line.starts_with(word) ? 1 : 0;
    begin += line.size() + 1;
  }
  return count;
}

}  // namespace

Json PackageJson(const runtime::Package& package) {
  const runtime::PackageInfo& info = package.info();
  Json json = {{"version", info.library},
               {"build", info.build},
               {"device", info.device},
               {"device_name", info.device_name},
               {"threads", info.threads},
               {"created", Created(info.unix_seconds)},
               {"default_ms", TimeJson(info.default_ms)},
               {"measured_ms", TimeJson(info.measured_ms)},
               {"predicted_ms", TimeJson(info.predicted_ms)},
               {"measurements", info.measurements},
               {"seed", info.seed},
               {"packed", {{"count", package.packed_count()}, {"bytes", package.packed_bytes()}}},
               {"decisions", Json::array()}};
  for (const planner::BookEntry& entry : package.decisions()) {
    json["decisions"].push_back({{"structure", fmt::format("{:016x}", entry.key.structure)},
                                 {"graph", fmt::format("{:016x}", entry.key.graph)},
                                 {"device", entry.key.device},
                                 {"threads", entry.key.threads},
                                 {"groups", CountLines(entry.text, "group ")},
                                 {"conversions", CountLines(entry.text, "convert ")}});
  }
  return json;
}

std::string PackageText(const runtime::Package& package) {
  const runtime::PackageInfo& info = package.info();
  std::string text = fmt::format(
      "package of version {}, {}\nmade for {} ({}), {}\n"
      "default plan {}, this plan {}, predicted {}; {}, seed {}\n"
      "{} ({})\n",
      info.library, Created(info.unix_seconds), info.device_name, info.device,
      Count(info.threads, "thread"), TimeText(info.default_ms), TimeText(info.measured_ms),
      TimeText(info.predicted_ms), Count(info.measurements, "measurement"), info.seed,
      Count(package.packed_count(), "packed weight"),
      HumanBytes(static_cast<double>(package.packed_bytes())));
  text = Fit(text);
  if (package.decisions().empty()) return text;
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"decision"}, {"threads", kRight}, {"groups", kRight}, {"conversions", kRight}});
  for (const planner::BookEntry& entry : package.decisions()) {
    table.Row({fmt::format("{:016x}", entry.key.graph), fmt::format("{}", entry.key.threads),
               fmt::format("{}", CountLines(entry.text, "group ")),
               fmt::format("{}", CountLines(entry.text, "convert "))});
  }
  return text + table.ToString();
}

}  // namespace fettle::tools
