// Counts requests that somebody waits for, so that background work can give way to them.
#pragma once

#include <atomic>
#include <cstdint>

namespace fettle {

/// The requests of the whole process. Thread-safe.
class Foreground {
 public:
  /// One request, as long as the object lives.
  class Request {
   public:
    Request() {
      ++running_;
      ++begun_;
    }
    ~Request() { --running_; }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
  };

  /// Whether one runs.
  static bool busy() { return running_ > 0; }
  /// How many have begun so far.
  static int64_t begun() { return begun_; }

 private:
  static inline std::atomic<int64_t> running_ = 0, begun_ = 0;
};

}  // namespace fettle
