// A link to a target, which may break at any moment.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "remote/process.h"
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
  /// `cancel` must outlive the link; `socket` is a path that is free, for a connection that its
  /// commands share.
  Link(Target target, std::string socket, const std::atomic<bool>& cancel)
      : target_(std::move(target)), free_socket_(std::move(socket)), cancel_(&cancel) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// The exit code of a line of POSIX shell; `on_line` gets what it prints, as it comes.
  Result<int> Run(const std::string& command,
                  const std::function<void(const std::string&)>& on_line = nullptr);
  /// Makes `to` of the local file `from`; whole or not at all.
  Status Push(const std::string& from, const std::string& to);
  /// Makes the local files, all at once.
  Status Pull(const std::vector<RemoteFile>& files);

  /// From here on the flag counts for nothing: what it asked for is under way.
  void IgnoreCancel() { cancel_ = nullptr; }
  const Target& target() const { return target_; }

 private:
  /// The shared connection, unless there is one or it cannot be had.
  void Share();
  void Unshare();
  Status Broken(const ProcessEnd& end);
  Result<ProcessEnd> Perform(const Words& words, ProcessStreams streams);
  Status PullByStream(const std::vector<RemoteFile>& files);
  Result<int> RunWith(const std::string& command, const std::string& input,
                      const std::function<void(const std::string&)>& on_line);

  Target target_;
  std::string free_socket_;  // empty: no connection is shared
  const std::atomic<bool>* cancel_;
};

}  // namespace fettle::tools
