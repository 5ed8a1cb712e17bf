#include "remote/remote_job.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "remote/job_folder.h"
#include "report/table.h"

namespace fettle::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLost = 3;
constexpr double kLongestPause = 15;

/// The folder's name: another command, file, program or owner has another one.
std::string FolderName(const RemoteJob& job, uint64_t runner_hash) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  const std::string owner = fmt::format("{} {} {}", host, ::getuid(), job.target.text);
  return fmt::format("fettle-{:016x}", HashText(owner, job.order.get()->hash ^ runner_hash));
}

class RemoteWorker {
 public:
  explicit RemoteWorker(const RemoteJob& job) : job_(job), link_(job.target, *job.cancel) {}
  Result<int> Perform();

 private:
  /// Repeats `step` for as long as the link breaks.
  Status Persist(const std::function<Status()>& step);
  void Pause(double seconds) const;
  Status FindMachine();
  Status Prepare();
  Status SendAll();
  void SayWhatIsSent(const std::string& name, int64_t bytes) const;
  Status SendFile(const std::string& path, const std::string& name);
  Status Wait();
  Status Fetch(RemoteResults& results);
  Status RunToItsEnd();

  const RemoteJob& job_;
  Link link_;
  std::string runner_;
  std::string name_;
  FolderState folder_;
  JobEnd end_;
  int links_ = 0;
  int64_t start_ns_ = NowNs();
  bool stopping_ = false;
};

void RemoteWorker::Pause(double seconds) const {
  const int64_t end = NowNs() + static_cast<int64_t>(seconds * 1e9);
  while (NowNs() < end && (stopping_ || !*job_.cancel))
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

Status RemoteWorker::Persist(const std::function<Status()>& step) {
  const int64_t start = NowNs();
  double pause = 0.5;
  bool is_said = false;
  while (true) {
    const Status status = step();
    if (status.code() != StatusCode::kIo) {
      if (is_said && status.ok()) job_.warn("the link is back");
      return status;
    }
    if (NowNs() - start > static_cast<int64_t>(job_.hold_seconds) * 1'000'000'000)
      return Error(StatusCode::kIo, "{} (the link has been broken for {} s)", status.message(),
                   job_.hold_seconds);
    ++links_;
    if (!is_said) job_.warn(fmt::format("the link is broken, trying again ({})", status.message()));
    is_said = true;
    Pause(pause);
    if (!stopping_ && *job_.cancel)
      return Error(StatusCode::kCancelled, "{}: interrupted", job_.target.text);
    pause = std::min(2 * pause, kLongestPause);
  }
}

/// The first answer: what fails here is a wrong name or key, which time does not mend.
Status RemoteWorker::FindMachine() {
  std::string machine;
  const auto code = link_.Run("uname -m", [&](const std::string& line) { machine = line; });
  if (code.status().code() == StatusCode::kIo)
    return Error(StatusCode::kDeviceUnavailable, "{}", code.status().message());
  RETURN_IF_ERROR(code.status());
  ASSIGN_OR_RETURN(runner_, job_.runner(machine));
  if (job_.order.get() == nullptr)
    return Error(StatusCode::kCancelled, "{}: there is nothing to do", job_.target.text);
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(runner_));
  name_ = FolderName(job_, HashMapped(file->bytes()));
  return OkStatus();
}

Status RemoteWorker::Prepare() {
  ASSIGN_OR_RETURN(folder_,
                   PrepareFolder(link_, name_, fmt::format("{}-{}", ::getpid(), start_ns_)));
  return OkStatus();
}

void RemoteWorker::SayWhatIsSent(const std::string& name, int64_t bytes) const {
  job_.say(fmt::format("sending {} ({})", name, HumanBytes(static_cast<double>(bytes))));
}

Status RemoteWorker::SendFile(const std::string& path, const std::string& name) {
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  const auto there = folder_.files.find(name);
  if (there != folder_.files.end() && there->second == bytes) return OkStatus();
  SayWhatIsSent(name, bytes);
  RETURN_IF_ERROR(Persist([&] { return link_.Push(path, folder_.path + "/" + name); }));
  folder_.files[name] = bytes;
  return OkStatus();
}

Status RemoteWorker::SendAll() {
  if (!folder_.has_runner) {
    SayWhatIsSent(kRunnerFolder, static_cast<int64_t>(fs::file_size(runner_)));
    RETURN_IF_ERROR(
        Persist([&] { return link_.Unpack(runner_, folder_.path + "/" + kRunnerFolder); }));
  }
  for (const SentFile& file : job_.order.get()->files)
    RETURN_IF_ERROR(SendFile(file.path, file.name));
  job_.say("starting " + job_.order.get()->command);
  return Persist(
      [&] { return StartJob(link_, folder_, job_.order.get()->words, job_.hold_seconds); });
}

/// After Ctrl-C the program there is told, and waited for: it keeps what it has.
Status RemoteWorker::Wait() {
  const auto wait = [&] {
    return Persist([&]() -> Status {
      ASSIGN_OR_RETURN(end_, WaitForJob(link_, folder_));
      return OkStatus();
    });
  };
  Status status = wait();
  if (status.code() != StatusCode::kCancelled) return status;
  stopping_ = true;
  link_.IgnoreCancel();
  job_.warn("interrupted: fetching what was measured");
  RETURN_IF_ERROR(Persist([&] { return StopJob(link_, folder_); }));
  return wait();
}

Status RemoteWorker::RunToItsEnd() {
  for (int lost = 0; lost < kMostLost; ++lost) {
    RETURN_IF_ERROR(Persist([&] { return Prepare(); }));
    if (folder_.job == FolderState::Job::kNone) {
      RETURN_IF_ERROR(SendAll());
    } else {
      job_.say("continuing a job that is there");
    }
    RETURN_IF_ERROR(Wait());
    if (end_.kind == JobEnd::Kind::kDone) return OkStatus();
    if (end_.kind == JobEnd::Kind::kTaken)
      return Error(StatusCode::kBusy,
                   "{}: the same command was started again and waits for this job",
                   job_.target.text);
    if (stopping_) return Error(StatusCode::kCancelled, "{}: interrupted", job_.target.text);
    job_.warn("the job was killed there; it is started again and keeps what was measured");
  }
  return Error(StatusCode::kDeviceError, "{}: the job was killed {} times", job_.target.text,
               kMostLost);
}

Status RemoteWorker::Fetch(RemoteResults& results) {
  results.exit_code = end_.exit_code;
  std::vector<RemoteFile> wanted;
  int64_t all_bytes = 0;
  for (const auto& [name, bytes] : end_.files) {
    const std::string file = fs::path(name).filename().string();
    // The target names it: nothing but a name below the scratch folder is taken.
    if (file.empty() || file == "." || file == "..") continue;
    const std::string path = job_.scratch + "/" + file;
    wanted.push_back({folder_.path + "/" + name, bytes, path});
    all_bytes += bytes;
    if (name == kRowsFile) results.rows = path;
    if (name.starts_with("work/")) results.made.push_back(path);
  }
  job_.say(fmt::format("fetching {} files ({})", wanted.size(),
                       HumanBytes(static_cast<double>(all_bytes))));
  RETURN_IF_ERROR(Persist([&] { return link_.Pull(wanted); }));
  std::ifstream document(job_.scratch + "/" + kDocumentFile);
  results.document = Json::parse(document, nullptr, false);
  if (results.document.is_discarded()) results.document = Json();
  std::ifstream log(job_.scratch + "/" + kLogFile);
  for (std::string line; std::getline(log, line);) results.log.push_back(line);
  return OkStatus();
}

Result<int> RemoteWorker::Perform() {
  RETURN_IF_ERROR(FindMachine());
  Status status = RunToItsEnd();
  RemoteResults results;
  if (status.ok()) status = Fetch(results);
  if (status.ok()) status = job_.deliver(results);
  // Nobody answers any more: the folder removes itself. What could not be written here stays there.
  if (status.code() == StatusCode::kIo || folder_.path.empty()) return status;
  link_.IgnoreCancel();
  stopping_ = true;
  // What was learned is here: taking it in and removing it there go on at once.
  std::thread learning([&] { job_.learn(results); });
  const Status removed = Persist([&] { return RemoveFolder(link_, folder_); });
  learning.join();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(removed);
  return links_;
}

}  // namespace

Result<int> PerformRemoteJob(const RemoteJob& job) { return RemoteWorker(job).Perform(); }

}  // namespace fettle::tools
