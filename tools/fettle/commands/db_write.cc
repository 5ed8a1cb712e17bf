// What `fettle db` changes in a database.
#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>

#include "commands/db.h"
#include "io/db_lines.h"
#include "io/tensor_io.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "tuner/predict/train_times.h"
#include "tuner/store/database_file.h"
#include "tuner/store/row_key.h"

namespace fettle::tools {
namespace {

using tuner::Database;

constexpr int64_t kDaySeconds = 86400;

/// The database of the options, made where there is none.
Result<std::unique_ptr<Database>> OpenOrMake(const DbOptions& options) {
  ASSIGN_OR_RETURN(std::string path, DbPath(options));
  ASSIGN_OR_RETURN(path, tuner::ResolveDatabase(path));
  const tuner::FolderLock lock(path);
  return Database::Open(path, Database::Access::kWrite);
}

bool HasFilter(const DbOptions& options) {
  const tuner::RowFilter& filter = options.filter;
  return options.older_than_days || !filter.kernel.empty() || !filter.device.empty() ||
         !filter.build.empty();
}

using tuner::TimeTraining;
using tuner::TrainedDevice;

/// What a kernel takes over its bound, of the rows of all devices.
struct KernelLine {
  std::string kernel, lanes;
  tuner::TimeLeaf leaf;
  double factor() const { return std::exp(leaf.median); }
};

std::vector<KernelLine> KernelsOf(const tuner::TimeModel& model) {
  constexpr std::string_view kBegin = "kernel ";
  std::vector<KernelLine> lines;
  for (const auto& [key, leaf] : model.leaves()) {
    if (!key.starts_with(kBegin)) continue;
    const std::string rest = key.substr(kBegin.size());
    const size_t space = rest.find(' ');
    // Deeper levels have more words.
    if (space == std::string::npos || rest.find(' ', space + 1) != std::string::npos) continue;
    lines.push_back({rest.substr(0, space), rest.substr(space + 1), leaf});
  }
  return lines;
}

Json TrainingJson(const std::string& path, const TimeTraining& training) {
  Json devices = Json::array(), kernels = Json::array();
  for (const TrainedDevice& device : training.devices) {
    const bool judged = device.predicted > 0;
    devices.push_back({{"device", device.fingerprint},
                       {"rows", device.rows},
                       {"refused", device.refused},
                       {"predicted", device.predicted},
                       {"bias", judged ? Json(device.bias) : Json(nullptr)},
                       {"error", judged ? Json(device.error) : Json(nullptr)},
                       {"within_quarter", judged ? Json(device.within) : Json(nullptr)}});
  }
  for (const KernelLine& line : KernelsOf(training.model))
    kernels.push_back({{"kernel", line.kernel},
                       {"threads", line.lanes},
                       {"rows", line.leaf.rows},
                       {"devices", line.leaf.devices},
                       {"over_bound", line.factor()}});
  return {{"path", path},
          {"rows", training.rows},
          {"used", training.used},
          {"refused", training.refused},
          {"leaves", training.model.leaves().size()},
          {"devices", std::move(devices)},
          {"kernels", std::move(kernels)}};
}

void PrintTraining(const std::string& path, const TimeTraining& training) {
  constexpr auto kRight = Table::Align::kRight;
  Table kernels(
      {{"kernel"}, {"threads"}, {"rows", kRight}, {"devices", kRight}, {"over its bound", kRight}});
  for (const KernelLine& line : KernelsOf(training.model))
    kernels.Row({line.kernel, line.lanes, fmt::format("{}", line.leaf.rows),
                 fmt::format("{}", line.leaf.devices), fmt::format("{:.2f}", line.factor())});
  fmt::print("{}\n", kernels.ToString());
  Table devices({{.title = "device", .narrow = Table::Narrow::kWrap},
                 {"rows", kRight},
                 {"left out: predicted", kRight},
                 {"bias", kRight},
                 {"error", kRight},
                 {"within 25 %", kRight}});
  for (const TrainedDevice& device : training.devices) {
    std::vector<std::string> cells = {
        device.refused.empty() ? device.fingerprint : device.fingerprint + ": " + device.refused,
        fmt::format("{}", device.rows),
        "-",
        "",
        "",
        ""};
    if (device.predicted > 0) {
      cells[2] = fmt::format("{}", device.predicted);
      cells[3] = fmt::format("{:.2f}", device.bias);
      cells[4] = fmt::format("{:.2f}", device.error);
      cells[5] = fmt::format("{:.0f} %", 100 * device.within);
    }
    devices.Row(std::move(cells));
  }
  fmt::print("{}\n{}: learned from {} of {}{}\n", devices.ToString(), path, training.used,
             Count(training.rows, "time"),
             training.refused > 0
                 ? fmt::format("; {} of kernels that this build has not", training.refused)
                 : "");
}

}  // namespace

Status DbImport(const DbOptions& options) {
  std::ifstream file;
  const bool from_stdin = options.file == "-";
  if (!from_stdin) {
    if (!FileExists(options.file))
      return Error(StatusCode::kNotFound, "{}: no such file", options.file);
    file.open(options.file, std::ios::binary);
    if (!file) return InvalidArgument("{}: {}", options.file, std::strerror(errno));
  }
  ASSIGN_OR_RETURN(const auto database, OpenOrMake(options));
  ASSIGN_OR_RETURN(const LineCounts counts,
                   ImportLines(from_stdin ? std::cin : file,
                               from_stdin ? "standard input" : options.file, *database));
  PrintWarnings(counts.warnings);
  if (options.json)
    PrintJson({{"path", database->path()},
               {"rows", counts.rows},
               {"decisions", counts.decisions},
               {"refused", counts.refused},
               {"warnings", counts.warnings}});
  else
    fmt::print(
        "{}: read {}, {}{}\n", database->path(), Count(counts.rows, "row"),
        Count(counts.decisions, "decision"),
        counts.refused > 0 ? fmt::format("; refused {}", Count(counts.refused, "line")) : "");
  return OkStatus();
}

Status DbMerge(const DbOptions& options) {
  if (!FileExists(options.file))
    return Error(StatusCode::kNotFound, "{}: no such file", options.file);
  Result<std::unique_ptr<Database>> other = Database::Open(options.file, Database::Access::kRead);
  if (!other.ok()) return AsInvalidInput(other.status());
  ASSIGN_OR_RETURN(const auto database, OpenOrMake(options));
  ASSIGN_OR_RETURN(const int64_t taken, Merge(*database, **other));
  if (options.json)
    PrintJson({{"path", database->path()}, {"taken", taken}, {"damaged", (*other)->damaged()}});
  else
    fmt::print("{}: {} taken from {}\n", database->path(), Count(taken, "row"), options.file);
  return OkStatus();
}

Status DbPrune(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, Database::Access::kWrite));
  tuner::RowFilter filter = options.filter;
  if (options.older_than_days)
    filter.older_than_seconds =
        tuner::UnixNow() - static_cast<int64_t>(*options.older_than_days * kDaySeconds);
  int64_t removed = 0;
  if (HasFilter(options)) {
    ASSIGN_OR_RETURN(removed, DeleteRows(*database, filter));
  }
  if (options.max_bytes) {
    ASSIGN_OR_RETURN(const int64_t evicted,
                     LimitSize(*database, static_cast<int64_t>(*options.max_bytes)));
    removed += evicted;
  }
  RETURN_IF_ERROR(Shrink(*database));
  ASSIGN_OR_RETURN(const int64_t bytes, UsedBytes(*database));
  if (options.json)
    PrintJson({{"path", database->path()}, {"removed", removed}, {"used_bytes", bytes}});
  else
    fmt::print("{}: {} removed, {} left\n", database->path(), Count(removed, "row"),
               HumanBytes(static_cast<double>(bytes)));
  return OkStatus();
}

Status DbTrain(const DbOptions& options) {
  ASSIGN_OR_RETURN(const auto database, OpenDb(options, tuner::Database::Access::kWrite));
  ASSIGN_OR_RETURN(const TimeTraining training, tuner::TrainTimes(*database));
  RETURN_IF_ERROR(database->PutDecision(
      {std::string(tuner::TimeModelKey()), training.model.Print(), tuner::UnixNow()}));
  if (options.json)
    PrintJson(TrainingJson(database->path(), training));
  else
    PrintTraining(database->path(), training);
  return OkStatus();
}

}  // namespace fettle::tools
