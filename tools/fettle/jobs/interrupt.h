// Ctrl-C: the first one asks the work in hand to stop, the second ends the program at once.
#pragma once

#include <atomic>
#include <functional>

namespace fettle::tools {

/// While one lives, SIGINT and SIGTERM call `cancel` once, from a thread of its own. Create it
/// before the program starts other threads, so that they inherit the blocked signals; only one may
/// live at a time.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> cancel);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// True once a signal came. Thread-safe.
  static bool Interrupted() { return Flag(); }
  static const std::atomic<bool>& Flag();
};

/// Blocks the signals in the calling thread and starts the thread that waits for them. Called once
/// by main.
void StartInterruptThread();

}  // namespace fettle::tools
