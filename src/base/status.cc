#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace fettle {

void CheckFailed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s: %s\n", file, line, condition, message);
  std::abort();
}

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::string_view kNames[] = {"ok",
                                                "invalid argument",
                                                "invalid model",
                                                "unsupported",
                                                "not found",
                                                "version mismatch",
                                                "corrupt",
                                                "io",
                                                "out of memory",
                                                "device unavailable",
                                                "device error",
                                                "build failed",
                                                "cancelled",
                                                "busy",
                                                "internal"};
  return kNames[static_cast<int>(code)];
}

Status::Status(StatusCode code, std::string message)
    : state_(std::make_shared<const State>(State{code, std::move(message)})) {
  FETTLE_CHECK(code != StatusCode::kOk, "a failure needs a failure code");
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return ok() ? kEmpty : state_->message;
}

Status ErrorOf(StatusCode code, fmt::string_view format, fmt::format_args args) {
  return Status(code, fmt::vformat(format, args));
}

void EndWithoutValue(const Status& failure) {
  CheckFailed(__FILE__, __LINE__, "result.ok()", failure.message().c_str());
}

void CheckFailure(const Status& failure) {
  FETTLE_CHECK(!failure.ok(), "a Result needs a value or a failure");
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(state_->code, fmt::format("{}: {}", context, state_->message));
}

}  // namespace fettle
