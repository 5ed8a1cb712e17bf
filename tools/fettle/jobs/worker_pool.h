// Child processes that work through a list, so that one crash costs one item.
#pragma once

#include <functional>
#include <string>

namespace fettle::tools {

/// Runs `work(i)` for every i in [0, count) in up to `workers` forked processes and calls
/// `done(i, text)` here with what it returned, in the order of arrival. A process that dies or
/// exceeds `limit_seconds` on an item gives the text of `crashed(reason)` for it and is replaced.
/// Call it before this process starts threads. Stops early, killing its children, when
/// `stop()` says so.
struct WorkerPool {
  int workers = 1;
  double limit_seconds = 120;
  std::function<std::string(size_t i)> work;
  std::function<void(size_t i, const std::string& text)> done;
  std::function<std::string(const std::string& reason)> crashed;
  std::function<bool()> stop;

  void Run(size_t count) const;
};

}  // namespace fettle::tools
