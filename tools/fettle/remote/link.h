// A link to a target, which may break at any moment.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "remote/conversation.h"
#include "remote/transport.h"

namespace fettle::tools {

/// A file on a target, and the local one that it is to become.
struct RemoteFile {
  std::string from;
  int64_t bytes = 0;
  std::string to;
};

/// Runs commands on a target and moves files. Belongs to one thread. Every failure that another try
/// may not meet is kIo, with what the transport said; kCancelled where `cancel` came first,
/// kUnsupported where the transport's program is not installed.
class Link {
 public:
  /// `cancel` must outlive the link.
  Link(Target target, const std::atomic<bool>& cancel)
      : target_(std::move(target)), cancel_(&cancel) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// The exit code of a line of POSIX shell; `on_line` gets what it prints, as it comes.
  Result<int> Run(const std::string& command,
                  const std::function<void(const std::string&)>& on_line = nullptr);
  /// Makes `to` of the local file `from`; whole or not at all.
  Status Push(const std::string& from, const std::string& to);
  /// Makes the folder `to` of what the local archive `from` (tar) holds; whole or not at all.
  Status Unpack(const std::string& from, const std::string& to);
  /// Makes the local files, all at once.
  Status Pull(const std::vector<RemoteFile>& files);

  /// From here on the flag counts for nothing: what it asked for is under way.
  void IgnoreCancel() { cancel_ = nullptr; }
  const Target& target() const { return target_; }

 private:
  /// How a target takes a file: pushed to `part`, or as a stream. Each is a line of shell.
  struct Receipt {
    std::string part, of_part, of_stream;
  };

  bool listens() const { return target_.transport->push == nullptr; }
  /// By the shell that listens, which is started where there is none.
  Result<int> Ask(const Question& question);
  Result<int> RunAlone(const std::string& command,
                       const std::function<void(const std::string&)>& on_line);
  /// A program of the transport whose exit code says whether the link held.
  Status Perform(const Words& words);
  Status Send(const std::string& from, const Receipt& receipt);
  Status PullByStream(const std::vector<RemoteFile>& files);

  Target target_;
  std::unique_ptr<Conversation> conversation_;
  const std::atomic<bool>* cancel_;
};

}  // namespace fettle::tools
