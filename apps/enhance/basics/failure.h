// Failures of this program: exceptions that carry the exit code of docs/cli.md, caught where a
// thread ends.
#pragma once

#include <fettle/fettle.h>

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
  Failure(ExitCode code, fettle_status status, const std::string& message)
      : std::runtime_error(message), code_(code), status_(status) {}
  /// With the status that most failures of the code have.
  Failure(ExitCode code, const std::string& message) : Failure(code, StatusOf(code), message) {}
  ExitCode code() const { return code_; }
  fettle_status status() const { return status_; }

 private:
  static fettle_status StatusOf(ExitCode code) {
    switch (code) {
      case kExitOk: return FETTLE_OK;
      case kExitFailed: return FETTLE_IO;
      case kExitUsage: return FETTLE_INVALID_ARGUMENT;
      case kExitInvalidInput: return FETTLE_CORRUPT;
      case kExitUnsupported: return FETTLE_UNSUPPORTED;
    }
    return FETTLE_INTERNAL;
  }

  ExitCode code_;
  fettle_status status_;
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
