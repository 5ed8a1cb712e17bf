#include "remote/remote.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "io/db_lines.h"
#include "io/tensor_io.h"
#include "jobs/interrupt.h"
#include "options/checks.h"
#include "remote/remote_job.h"
#include "remote/summary.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/terminal.h"
#include "tuner/store/database_file.h"

namespace fettle::tools {
namespace {

namespace fs = std::filesystem;

/// A local folder that goes with the object.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::string path = (fs::temp_directory_path() / "fettle-remote-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      return Error(StatusCode::kIo, "{}: cannot be created", path);
    return ScratchFolder(path);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string Below(const std::string& name) const {
    fs::create_directory(path_ + "/" + name);
    return path_ + "/" + name;
  }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Where a runner lies: PREFIX/libexec/fettle/MACHINE/runner.tar, or as --runner says.
Result<std::string> FindRunner(const std::string& given, const std::string& machine) {
  if (!given.empty() && !IsDirectory(given)) {
    if (FileExists(given)) return given;
    return InvalidArgument("--runner {}: no such file or folder", given);
  }
  fs::path folder = given;
  if (given.empty()) {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    folder = self.parent_path().parent_path() / "libexec" / "fettle";
  }
  // The target names it.
  if (machine.empty() || machine.find('/') != std::string::npos || machine[0] == '.')
    return InvalidArgument("'{}' is not an architecture", machine);
  const std::string path = folder / machine / "runner.tar";
  if (FileExists(path)) return path;
  return Unsupported(
      "there is no runner for {0}: {1} is missing (docs/remote.md says how to make it)", machine,
      path);
}

/// The lines of `log` but those that say `message`, which is said at the end.
std::vector<std::string> WithoutMessage(std::vector<std::string> log, const std::string& message) {
  std::vector<std::string> said;
  std::istringstream lines(ForTerminal(fmt::format("fettle: {}", message)));
  for (std::string line; std::getline(lines, line);) said.push_back(line);
  const auto found = std::search(log.begin(), log.end(), said.begin(), said.end());
  if (found != log.end()) log.erase(found, found + std::ssize(said));
  return log;
}

/// One order on several targets at once.
class Fleet {
 public:
  Fleet(const RemoteOptions& options, const CommonOptions& common, std::string output)
      : options_(options), common_(common), output_(std::move(output)) {}

  Status ParseTargets();
  /// Reaches the targets, and takes what `order` gives to those that answer.
  void Run(const std::function<const RemoteOrder*()>& order, const ScratchFolder& scratch);
  const std::vector<RemoteRow>& rows() const { return rows_; }
  std::atomic<bool>& cancel() { return cancel_; }

 private:
  void RunOne(const std::shared_future<const RemoteOrder*>& order, const std::string& scratch,
              size_t i);
  Status Deliver(const RemoteOrder& order, const RemoteResults& results, size_t i);
  Status KeepRows(const std::string& file, std::vector<std::string>& warnings) const;
  void Learn(const std::string& rows, size_t i);
  std::string PlaceFor(const std::string& file, size_t i);
  void Say(size_t i, const std::string& text);
  void Warn(size_t i, const std::string& text);

  const RemoteOptions& options_;
  const CommonOptions& common_;
  std::string output_;
  std::vector<Target> targets_;
  std::vector<RemoteRow> rows_;
  std::atomic<bool> cancel_ = false;
  std::mutex mutex_;  // of what targets share: the database, standard error
};

Status Fleet::ParseTargets() {
  std::set<std::string> seen;
  for (const std::string& text : options_.targets) {
    ASSIGN_OR_RETURN(Target target, ParseTarget(text));
    if (!seen.insert(text).second) return InvalidArgument("--remote {}: is given twice", text);
    targets_.push_back(std::move(target));
  }
  const bool is_folder = output_.ends_with('/') || IsDirectory(output_);
  if (targets_.size() > 1 && !output_.empty() && !is_folder)
    return InvalidArgument("--output {}: several targets need a folder", output_);
  return OkStatus();
}

void Fleet::Say(size_t i, const std::string& text) {
  if (!TakesEscapeCodes()) return;
  const std::lock_guard lock(mutex_);
  PrintMessage("{}: {}\n", targets_[i].text, text);
}

void Fleet::Warn(size_t i, const std::string& text) {
  const std::lock_guard lock(mutex_);
  PrintWarnings({targets_[i].text + ": " + text});
}

Status Fleet::KeepRows(const std::string& file, std::vector<std::string>& warnings) const {
  if (file.empty() || common_.no_cache) return OkStatus();
  const std::string path = tuner::DatabasePath(common_.cache);
  if (path.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const std::string resolved, tuner::ResolveDatabase(path));
  const tuner::FolderLock lock(resolved);
  ASSIGN_OR_RETURN(const auto database,
                   tuner::Database::Open(resolved, tuner::Database::Access::kWrite));
  std::ifstream lines(file, std::ios::binary);
  ASSIGN_OR_RETURN(LineCounts counts, ImportLines(lines, file, *database));
  warnings = std::move(counts.warnings);
  return OkStatus();
}

void Fleet::Learn(const std::string& rows, size_t i) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> warnings;
  const Status kept = KeepRows(rows, warnings);
  if (!kept.ok()) warnings.emplace_back(kept.message());
  for (std::string& warning : warnings) warning = targets_[i].text + ": " + warning;
  PrintWarnings(warnings);
}

/// Where a package goes: of several targets they are told apart, as their devices may be equal.
std::string Fleet::PlaceFor(const std::string& file, size_t i) {
  const bool is_folder = output_.empty() || output_.ends_with('/') || IsDirectory(output_);
  if (!is_folder) return output_;
  std::error_code error;
  if (!output_.empty()) fs::create_directories(output_, error);
  fs::path name = fs::path(file).filename();
  if (targets_.size() > 1)
    name.replace_extension("." + FileNameFor(targets_[i].address) + name.extension().string());
  return (fs::path(output_) / name).string();
}

Status Fleet::Deliver(const RemoteOrder& order, const RemoteResults& results, size_t i) {
  const std::lock_guard lock(mutex_);
  RemoteRow& row = rows_[i];
  row.exit_code = results.exit_code;
  row.document = results.document;
  std::vector<std::string> log = results.log;
  if (const Json* error = Member(row.document, "error"); error != nullptr) {
    const std::string message = error->value("message", "");
    row.error = fmt::format("{}: {}", row.target, message);
    log = WithoutMessage(std::move(log), message);
  } else if (row.document.is_null()) {
    row.error = fmt::format("{}: the program ended with {}", row.target, row.exit_code);
  }
  for (const std::string& line : log) PrintMessage("{}: {}\n", targets_[i].text, line);
  if (row.document.is_object() && !order.model.empty() && row.document.contains("model"))
    row.document["model"] = order.model;
  for (const std::string& file : results.made) {
    if (!file.ends_with(".fettle")) continue;
    row.package = PlaceFor(file, i);
    ASSIGN_OR_RETURN(const auto bytes, MappedFile::Open(file));
    RETURN_IF_ERROR(WriteFile(row.package, bytes->bytes()));
    if (row.document.is_object()) row.document["package"] = row.package;
  }
  return OkStatus();
}

void Fleet::RunOne(const std::shared_future<const RemoteOrder*>& order, const std::string& scratch,
                   size_t i) {
  const int64_t start = NowNs();
  const RemoteJob job = {
      .target = targets_[i],
      .order = order,
      .runner = [this](const std::string& machine) { return FindRunner(options_.runner, machine); },
      .scratch = scratch,
      .hold_seconds = options_.hold_seconds,
      .say = [this, i](const std::string& text) { Say(i, text); },
      .warn = [this, i](const std::string& text) { Warn(i, text); },
      .deliver = [&](const RemoteResults& results) { return Deliver(*order.get(), results, i); },
      .learn = [&](const RemoteResults& results) { Learn(results.rows, i); },
      .cancel = &cancel_};
  const Result<int> links = PerformRemoteJob(job);
  RemoteRow& row = rows_[i];
  row.seconds = static_cast<double>(NowNs() - start) * 1e-9;
  if (links.ok()) {
    row.links = *links;
    return;
  }
  row.exit_code = ExitCodeFor(links.status());
  const std::string message(links.status().message());
  const bool names_target = message.starts_with(row.target);
  row.error = names_target ? message : row.target + ": " + message;
}

void Fleet::Run(const std::function<const RemoteOrder*()>& order, const ScratchFolder& scratch) {
  for (const Target& target : targets_) rows_.push_back({.target = target.text});
  std::promise<const RemoteOrder*> made;
  const std::shared_future<const RemoteOrder*> wanted = made.get_future().share();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < targets_.size(); ++i)
    threads.emplace_back(
        [&, i, folder = scratch.Below(std::to_string(i))] { RunOne(wanted, folder, i); });
  made.set_value(order());
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void AddRemoteOptions(CLI::App& app, RemoteOptions& options) {
  app.add_option("--remote", options.targets,
                 "run on another machine: ssh:HOST, ssh://USER@HOST:PORT or adb:SERIAL; may be "
                 "given for each machine")
      ->envname("FETTLE_REMOTE")
      ->check([](const std::string& text) { return ParseTarget(text).status().message(); })
      ->take_all()
      ->expected(1);
  app.add_option("--runner", options.runner,
                 "with --remote: the folder of runners (default: libexec/fettle), or a runner.tar")
      ->envname("FETTLE_RUNNER");
  app.add_option("--remote-hold", options.hold_seconds,
                 "with --remote: how long the other machine keeps a job after the link broke, in "
                 "seconds (default 3600)")
      ->envname("FETTLE_REMOTE_HOLD")
      ->check(Between(1, 7 * 86400));
}

int RunRemotely(const CLI::App& command, const RemoteOptions& options, const CommonOptions& common,
                const std::string& output) {
  InstallLog(common.log);
  StartInterruptThread();
  Fleet fleet(options, common, output);
  if (const Status parsed = fleet.ParseTargets(); !parsed.ok()) return Fail(parsed, kExitUsage);
  const auto scratch = ScratchFolder::Make();
  if (!scratch.ok()) return Fail(scratch.status());
  Result<RemoteOrder> order = Error(StatusCode::kInternal, "no order");
  {
    const InterruptScope interrupt([&] { fleet.cancel() = true; });
    fleet.Run(
        [&]() -> const RemoteOrder* {
          order = MakeOrder(command, scratch->Below("model"));
          if (!order.ok()) fleet.cancel() = true;
          return order.ok() ? &*order : nullptr;
        },
        *scratch);
  }
  if (!order.ok()) return Fail(order.status());
  if (common.json)
    PrintJson(SummaryJson(fleet.rows()));
  else
    fmt::print("{}", SummaryText(order->command, fleet.rows()));
  int code = kExitOk;
  for (const RemoteRow& row : fleet.rows()) {
    if (!row.error.empty()) PrintMessage("fettle: {}\n", row.error);
    if (code == kExitOk) code = row.exit_code;
  }
  return code;
}

}  // namespace fettle::tools
