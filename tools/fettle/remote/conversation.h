// One shell on a target that answers question after question, so that logging in is paid once.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "remote/child.h"

namespace fettle::tools {

/// The line of POSIX shell that a target is to run: it reads commands on standard input. No shell
/// reads ahead of a `read`, so that a command may read there, too.
extern const char* const kListeningShell;

/// What tells the end of a command from the end of a link, before the command's exit code.
inline constexpr std::string_view kEndMark = "fettle-end ";

struct Question {
  std::string command;
  /// What the command reads on standard input. It must read just these, or end with kReadingFailed.
  std::span<const std::byte> input;
  /// Gets what it prints, as it comes.
  std::function<void(const std::string&)> on_line;
  /// Gets the N bytes that follow a line "fettle-bytes N".
  std::function<void(std::span<const std::byte>)> on_bytes;
};

/// The exit code of a command that did not read all of its input, which ends the shell: what is
/// left is not a command.
inline constexpr int kReadingFailed = 97;

/// Belongs to one thread.
class Conversation {
 public:
  /// Starts `words`, which have kListeningShell run on a target.
  static Result<std::unique_ptr<Conversation>> Start(const std::vector<std::string>& words);
  /// Ends it; a command that still runs over there meets a closed stream.
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// The command's exit code. kIo, with what the transport said, where the link broke, kCancelled
  /// where `cancel`, which may be null, came first: nothing can be asked any more then, nor after
  /// kReadingFailed.
  Result<int> Ask(const Question& question, const std::atomic<bool>* cancel);

 private:
  Conversation(pid_t pid, OpenFile stream, OpenFile err);
  /// After the end of what comes back: why.
  Status Broken();

  pid_t pid_;
  OpenFile stream_, err_;
  std::string complaint_;
  LineReader complaints_;
};

}  // namespace fettle::tools
