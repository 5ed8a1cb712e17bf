// Failures of this program: exceptions that carry the exit code of docs/cli.md, caught where a
// thread ends.
#pragma once

#include <exception>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace fettle::enhance {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitInvalidInput = 3,
  kExitUnsupported = 4,
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Keeps the first error of several threads and asks all of them to stop. Thread-safe.
class FirstError {
 public:
  /// Called in a catch block.
  void Set() {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::current_exception();
    stop_.request_stop();
  }
  void RethrowIfAny() {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }
  std::stop_source& stop() { return stop_; }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::stop_source stop_;
};

}  // namespace fettle::enhance
