// q stops a job that somebody watches.
#pragma once

#include <stop_token>
#include <thread>

namespace fettle::enhance {

/// While it lives, q on the terminal asks for a stop. Does nothing where standard input is no
/// terminal or the program is not in its foreground. The terminal is as before afterwards.
class StopKey {
 public:
  explicit StopKey(std::stop_source stop);
  ~StopKey();
  StopKey(const StopKey&) = delete;
  StopKey& operator=(const StopKey&) = delete;

  /// What a handler calls that ends the program at once.
  static void RestoreTerminal();

 private:
  std::jthread thread_;
};

}  // namespace fettle::enhance
