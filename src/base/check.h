// FETTLE_CHECK: a broken invariant is a bug of Fettle, never an input error; it aborts with a line
// that names the place.
#pragma once

namespace fettle {
/// Prints `file:line: CHECK failed: condition: message` to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* message);
}  // namespace fettle

#define FETTLE_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void() \
                                : ::fettle::CheckFailed(__FILE__, __LINE__, #condition, message))
