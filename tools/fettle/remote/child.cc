#include "remote/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace fettle::tools {

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<PipeEnds> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error(StatusCode::kInternal, "pipe: {}", strerror(errno));
  return PipeEnds{OpenFile(ends[0]), OpenFile(ends[1])};
}

void LineReader::Read() {
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

Result<pid_t> StartProcess(const std::vector<std::string>& command, int in, int out, int err) {
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

int WaitForProcess(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool SaysSomething(const std::string& line) {
  return line.find_first_not_of(" \t\r") != std::string::npos;
}

}  // namespace fettle::tools
