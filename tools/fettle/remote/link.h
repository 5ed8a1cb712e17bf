// A link to a target, which may break at any moment.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "remote/transport.h"

namespace fettle::tools {

/// Runs commands on a target and moves files. Belongs to one thread. Every failure that another try
/// may not meet is kIo, with what the transport said; kCancelled where `cancel` came first,
/// kUnsupported where the transport's program is not installed.
class Link {
 public:
  /// `cancel` must outlive the link.
  Link(Target target, const std::atomic<bool>& cancel)
      : target_(std::move(target)), cancel_(&cancel) {}

  /// The exit code of a line of POSIX shell; `on_line` gets what it prints, as it comes.
  Result<int> Run(const std::string& command,
                  const std::function<void(const std::string&)>& on_line = nullptr);
  /// Makes `to` of the local file `from`; whole or not at all.
  Status Push(const std::string& from, const std::string& to);
  /// Makes the local file `to` of `from`, which has `bytes`.
  Status Pull(const std::string& from, int64_t bytes, const std::string& to);

  /// From here on the flag counts for nothing: what it asked for is under way.
  void IgnoreCancel() { cancel_ = nullptr; }
  const Target& target() const { return target_; }

 private:
  Result<int> RunWith(const std::string& command, const std::string& input,
                      const std::function<void(const std::string&)>& on_line);

  Target target_;
  const std::atomic<bool>* cancel_;
};

}  // namespace fettle::tools
