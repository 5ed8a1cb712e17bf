// Status and Result<T>: how every fallible function of Fettle reports failure. No exceptions pass
// through the library.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace fettle {

/// What kind of failure a Status carries. The C ABI and the command line map these to their own
/// codes.
enum class StatusCode : unsigned char {
  kOk,
  kInvalidArgument,
  kInvalidModel,
  kUnsupported,
  kNotFound,
  kVersionMismatch,
  kCorrupt,
  kIo,
  kOutOfMemory,
  kDeviceUnavailable,
  kDeviceError,
  kBuildFailed,
  kCancelled,
  kBusy,
  kInternal,
};

std::string_view StatusCodeName(StatusCode code);

/// The outcome of an operation: OK (a null pointer, free to copy) or a code with a one-line
/// message. Message grammar, static text first: `model.onnx: node #12 'up_1' (Resize, opset 13):
/// attribute 'mode': expected ...`.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);

  bool ok() const { return state_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : state_->code; }
  const std::string& message() const;

  /// The same failure with `context` and ": " before its message; OK stays OK.
  Status WithContext(std::string_view context) const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const State> state_;
};

inline Status OkStatus() { return {}; }

/// A failed Status with a formatted message.
Status ErrorOf(StatusCode code, fmt::string_view format, fmt::format_args args);
template <typename... Args>
Status Error(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return ErrorOf(code, format, fmt::make_format_args(args...));
}
template <typename... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status InvalidModel(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kInvalidModel, format, std::forward<Args>(args)...);
}
template <typename... Args>
Status Unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kUnsupported, format, std::forward<Args>(args)...);
}

/// Ends the process: somebody asked a failure for its value.
[[noreturn]] void EndWithoutValue(const Status& failure);
/// Ends the process where `failure` is OK: a Result needs a value or a failure.
void CheckFailure(const Status& failure);

/// A value or the Status that says why there is none (the subset of std::expected that Fettle
/// uses). Of an optional, not of a variant, which compilers take longer for (decision 28).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : failure_(std::move(status)) { CheckFailure(failure_); }
  template <typename U>
  requires std::is_convertible_v<U&&, T> &&(!std::is_same_v<std::remove_cvref_t<U>, Result>)&&(
      !std::is_same_v<std::remove_cvref_t<U>, Status>)&&(!std::is_same_v<std::remove_cvref_t<U>, T>)
      Result(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}

  bool ok() const { return value_.has_value(); }
  Status status() const { return failure_; }
  T& value() & {
    if (!ok()) EndWithoutValue(failure_);
    return *value_;
  }
  const T& value() const& {
    if (!ok()) EndWithoutValue(failure_);
    return *value_;
  }
  T&& value() && {
    if (!ok()) EndWithoutValue(failure_);
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status failure_;  // OK where there is a value
};

}  // namespace fettle

#define FETTLE_CONCAT_INNER(a, b) a##b
#define FETTLE_CONCAT(a, b) FETTLE_CONCAT_INNER(a, b)

/// Returns from the enclosing function if `expr` is a failure.
#define RETURN_IF_ERROR(expr)                      \
  do {                                             \
    ::fettle::Status fettle_status = (expr);       \
    if (!fettle_status.ok()) return fettle_status; \
  } while (false)

/// `ASSIGN_OR_RETURN(auto x, MakeX());`: the value of a Result, or return its failure.
#define ASSIGN_OR_RETURN(declaration, expr) \
  FETTLE_ASSIGN_OR_RETURN(FETTLE_CONCAT(fettle_result_, __LINE__), declaration, expr)
#define FETTLE_ASSIGN_OR_RETURN(result, declaration, expr) \
  auto result = (expr);                                    \
  if (!result.ok()) return result.status();                \
  declaration = std::move(result).value()
