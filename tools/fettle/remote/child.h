// A program that runs beside this one, and the ends of its streams.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// How often who waits for a process looks whether its work was cancelled.
inline constexpr int kPollMilliseconds = 50;

/// A file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile();
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct PipeEnds {
  OpenFile read, write;
};

/// Neither end is a child's unless it is handed over. kInternal.
Result<PipeEnds> MakePipe();

/// Bytes as they come, handed on as lines.
class LineReader {
 public:
  LineReader(int fd, std::function<void(const std::string&)> on_line)
      : fd_(fd), on_line_(std::move(on_line)) {}

  /// Until the other end is closed; never where the descriptor is -1.
  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// Waits where nothing has come.
  void Read();

 private:
  int fd_;
  std::string rest_;
  std::function<void(const std::string&)> on_line_;
};

/// Starts `command` (its first word is looked for on the PATH) with these streams, in a process
/// group of its own, so that Ctrl-C is the caller's to answer. kUnsupported where there is no such
/// program.
Result<pid_t> StartProcess(const std::vector<std::string>& command, int in, int out, int err);
/// Its exit code, or 128 + N where signal N ended it.
int WaitForProcess(pid_t pid);

/// Whether a line on standard error says something.
bool SaysSomething(const std::string& line);

}  // namespace fettle::tools
