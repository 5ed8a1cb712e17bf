#include "remote/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

extern char** environ;

namespace fettle::tools {
namespace {

constexpr int kPollMilliseconds = 50;

/// A file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<OpenFile> OpenHere(const std::string& path, int flags) {
  OpenFile file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (file.fd() < 0) return Error(StatusCode::kInternal, "{}: {}", path, strerror(errno));
  return file;
}

struct PipeEnds {
  OpenFile read, write;
};

Result<PipeEnds> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error(StatusCode::kInternal, "pipe: {}", strerror(errno));
  return PipeEnds{OpenFile(ends[0]), OpenFile(ends[1])};
}

/// Bytes as they come, handed on as lines.
class LineReader {
 public:
  LineReader(int fd, std::function<void(const std::string&)> on_line)
      : fd_(fd), on_line_(std::move(on_line)) {}

  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  void Read() {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
      if (!rest_.empty()) on_line_(rest_);
      fd_ = -1;
      return;
    }
    rest_.append(bytes.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line_(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
  }

 private:
  int fd_;
  std::string rest_;
  std::function<void(const std::string&)> on_line_;
};

Result<pid_t> SpawnProcess(const std::vector<std::string>& command, int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // It ends where nobody reads on, whatever this process does about that.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  return Unsupported("{}: cannot be started: {}", command[0], strerror(error));
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<ProcessEnd> RunProcess(const std::vector<std::string>& command,
                              const ProcessStreams& streams) {
  ASSIGN_OR_RETURN(const OpenFile in,
                   OpenHere(streams.input.empty() ? "/dev/null" : streams.input, O_RDONLY));
  ASSIGN_OR_RETURN(PipeEnds out, MakePipe());
  ASSIGN_OR_RETURN(PipeEnds err, MakePipe());
  if (!streams.output.empty()) {
    ASSIGN_OR_RETURN(out.write, OpenHere(streams.output, O_WRONLY | O_CREAT | O_TRUNC));
  }
  ASSIGN_OR_RETURN(const pid_t pid, SpawnProcess(command, in.fd(), out.write.fd(), err.write.fd()));
  out.write = OpenFile();
  err.write = OpenFile();
  ProcessEnd end;
  LineReader lines(streams.output.empty() ? out.read.fd() : -1, [&](const std::string& line) {
    if (streams.on_line) streams.on_line(line);
  });
  LineReader complaints(err.read.fd(), [&](const std::string& line) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) end.complaint = line;
  });
  while (lines.open() || complaints.open()) {
    if (streams.cancel != nullptr && *streams.cancel && !end.cancelled) {
      end.cancelled = true;
      ::kill(-pid, SIGKILL);
    }
    std::array<pollfd, 2> wait = {{{lines.fd(), POLLIN, 0}, {complaints.fd(), POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), kPollMilliseconds) <= 0) continue;
    if (wait[0].revents != 0) lines.Read();
    if (wait[1].revents != 0) complaints.Read();
  }
  end.exit_code = WaitFor(pid);
  return end;
}

}  // namespace fettle::tools
