#include "device/opencl/compile_worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <thread>

#include "base/clock.h"

namespace fettle {

/// How reading from the other end ended. Of no anonymous namespace, as CompileWorker::Answer holds
/// it.
enum class Reading { kDone, kEnded, kLate, kCancelled };

namespace {

/// Longer texts and binaries are no programs.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
/// Drivers take their time to start, the more the busier the machine is.
constexpr int64_t kStartNs = 60'000'000'000;
constexpr char kBuilt = 'b', kFailed = 'f';

/// How long a reader waits: until `deadline_ns` (NowNs; 0: whatever it takes), `cancelled` or
/// `closing`.
struct Patience {
  int64_t deadline_ns = 0;
  const std::atomic<bool>* cancelled = nullptr;
  const std::atomic<bool>* closing = nullptr;

  bool can_end_early() const { return cancelled != nullptr || closing != nullptr; }
  bool has_ended() const {
    return (cancelled != nullptr && *cancelled) || (closing != nullptr && *closing);
  }
};

/// Reads `size` bytes.
Reading ReadAll(int socket, void* out, size_t size, const Patience& patience) {
  constexpr int64_t kLookNs = 50'000'000;
  auto* at = static_cast<char*>(out);
  while (size > 0) {
    if (patience.deadline_ns > 0) {
      const int64_t left = patience.deadline_ns - NowNs();
      if (left <= 0) return Reading::kLate;
      if (patience.has_ended()) return Reading::kCancelled;
      const int64_t wait_ns = patience.can_end_early() ? std::min(left, kLookNs) : left;
      pollfd wait{socket, POLLIN, 0};
      if (poll(&wait, 1, static_cast<int>(wait_ns / 1'000'000 + 1)) <= 0) continue;
    }
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Reading::kEnded;
    at += got;
    size -= got;
  }
  return Reading::kDone;
}

Reading ReadText(int socket, std::string& text, const Patience& patience) {
  uint64_t size = 0;
  const Reading reading = ReadAll(socket, &size, sizeof(size), patience);
  if (reading != Reading::kDone) return reading;
  if (size > kMostBytes) return Reading::kEnded;
  text.resize(size);
  return ReadAll(socket, text.data(), size, patience);
}

bool WriteAll(int socket, const void* from, size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    // A reader that is gone is no reason to die.
    const ssize_t put = send(socket, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= put;
  }
  return true;
}

bool WriteText(int socket, std::string_view text) {
  const uint64_t size = text.size();
  return WriteAll(socket, &size, sizeof(size)) && WriteAll(socket, text.data(), text.size());
}

/// With the other end of `socket` as its standard input, in a group of its own (Ctrl-C is the
/// caller's to answer) and with no signal blocked.
Status Spawn(const std::vector<std::string>& command, int socket, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  // What drivers print is none of the caller's results.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error =
      posix_spawn(&pid, command[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return OkStatus();
  pid = -1;
  return Error(StatusCode::kIo, "{}: cannot be started: {}", command[0], strerror(error));
}

/// Ends this process when the caller is gone, whatever a compiler does meanwhile.
void WatchCaller(int socket) {
  pollfd wait{socket, POLLRDHUP, 0};
  while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

Status Cancelled() { return Error(StatusCode::kCancelled, "the compiler was stopped"); }

std::mutex compiler_mutex;
ProgramCompiler& CurrentCompiler() {
  static ProgramCompiler compiler;
  return compiler;
}

}  // namespace

void SetProgramCompiler(ProgramCompiler compiler) {
  const std::lock_guard lock(compiler_mutex);
  CurrentCompiler() = std::move(compiler);
}

ProgramCompiler GetProgramCompiler() {
  const std::lock_guard lock(compiler_mutex);
  return CurrentCompiler();
}

struct CompileWorker::Answer {
  Reading reading = Reading::kEnded;
  char kind = kFailed;
  std::string payload;  // the binary, or the log
};

CompileWorker::~CompileWorker() { End(); }

Status CompileWorker::Start() {
  const std::lock_guard lock(mutex_);
  return StartLocked();
}

Status CompileWorker::StartLocked() {
  if (pid_ > 0) return OkStatus();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error(StatusCode::kIo, "socketpair: {}", strerror(errno));
  const Status spawned = Spawn(command_, ends[1], pid_);
  close(ends[1]);
  socket_ = ends[0];
  if (!spawned.ok()) End();
  RETURN_IF_ERROR(spawned);
  return AwaitReady();
}

/// A worker that has not come so far says nothing about any program.
Status CompileWorker::AwaitReady() {
  const Patience patience{NowNs() + kStartNs, cancelled_, closing_};
  const Reading reading = ReadText(socket_, fingerprint_, patience);
  if (reading == Reading::kDone) return OkStatus();
  const std::string end = End();
  if (reading == Reading::kCancelled) return Cancelled();
  return Error(StatusCode::kIo, "{}: cannot open its device ({})", command_[0], end);
}

Status CompileWorker::CheckDevice(std::string_view fingerprint) {
  if (fingerprint == fingerprint_) return OkStatus();
  End();
  return Error(StatusCode::kIo, "{}: compiles for another device, '{}'", command_[0], fingerprint_);
}

void CompileWorker::Kill() const {
  if (pid_ > 0) kill(-pid_, SIGKILL);  // what a compiler started, too
}

std::string CompileWorker::End() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (pid_ <= 0) return {};
  Kill();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

CompileWorker::Answer CompileWorker::Ask(const ProgramSource& source) {
  Answer answer;
  const Patience patience{NowNs() + static_cast<int64_t>(limit_seconds_ * 1e9), cancelled_,
                          closing_};
  if (!WriteText(socket_, source.name) || !WriteText(socket_, source.text) ||
      !WriteText(socket_, source.options))
    return answer;
  answer.reading = ReadAll(socket_, &answer.kind, 1, patience);
  if (answer.reading == Reading::kDone)
    answer.reading = ReadText(socket_, answer.payload, patience);
  return answer;
}

Result<std::vector<std::byte>> CompileWorker::Compile(const ProgramSource& source,
                                                      std::string_view fingerprint) {
  const std::lock_guard lock(mutex_);
  std::string end;
  // A death may have had another reason: one restart.
  for (int attempt = 0; attempt < 2; ++attempt) {
    RETURN_IF_ERROR(StartLocked());
    RETURN_IF_ERROR(CheckDevice(fingerprint));
    const Answer answer = Ask(source);
    if (answer.reading == Reading::kDone) {
      if (answer.kind != kBuilt) return Status(StatusCode::kBuildFailed, answer.payload);
      const auto bytes = std::as_bytes(std::span(answer.payload));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    end = End();
    if (answer.reading == Reading::kCancelled) return Cancelled();
    if (answer.reading == Reading::kLate)
      return Error(StatusCode::kBuildFailed, "the compiler took over {:g} s and was stopped",
                   limit_seconds_);
  }
  return Error(StatusCode::kBuildFailed, "the compiler died twice ({})", end);
}

int ServeCompiles(
    int socket, std::string_view fingerprint,
    const std::function<Result<std::vector<std::byte>>(const ProgramSource&)>& build) {
  std::thread(WatchCaller, socket).detach();
  if (!WriteText(socket, fingerprint)) return 1;
  while (true) {
    ProgramSource source;
    for (std::string* text : {&source.name, &source.text, &source.options})
      if (ReadText(socket, *text, {}) != Reading::kDone) return 0;
    const Result<std::vector<std::byte>> built = build(source);
    const char kind = built.ok() ? kBuilt : kFailed;
    const std::string payload =
        built.ok() ? std::string(reinterpret_cast<const char*>(built->data()), built->size())
                   : built.status().message();
    if (!WriteAll(socket, &kind, 1) || !WriteText(socket, payload)) return 1;
  }
}

}  // namespace fettle
