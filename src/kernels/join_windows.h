// Windows: tensors that are written straight to the place where a Concat would copy them. This is
// the kernels' side; exec/choose_windows.h uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fettle::kernels {

/// How a tensor lies in a wider one: rows of `row` elements that lie side by side (its innermost
/// physical dimension), one every `pitch` elements. A pitch of 0: all of its elements lie together,
/// as they do anywhere.
struct WindowRows {
  int64_t row = 0;
  int64_t pitch = 0;
};

/// An input that needs no bytes of its own where it begins `byte_offset` behind output 0 and its
/// rows lie as `rows` says: it is already where Launch would copy it to, so Launch leaves it.
struct Window {
  int input = 0;
  int64_t byte_offset = 0;
  WindowRows rows;
};

/// A kernel that does nothing for inputs that are windows of its output: PreparedKernel::joins().
class JoinsWindows {
 public:
  virtual ~JoinsWindows() = default;
  /// The inputs that may be windows, each for itself; offsets are multiples of kTensorAlignment.
  virtual std::vector<Window> windows() const = 0;
  /// Whether Launch only copies inputs, so that it has nothing to do where all of them are windows.
  virtual bool writes_nothing_else() const = 0;
};

/// A kernel that can write its only output as a window.
class WritesWindow {
 public:
  virtual ~WritesWindow() = default;
  /// From now on the output's rows lie as `rows` says, with rows.pitch above 0; the kernel must not
  /// write between them. Call it before the first launch. kUnsupported, with nothing changed, where
  /// the kernel cannot do it or has other rows.
  virtual Status WriteApart(const WindowRows& rows) = 0;
};

}  // namespace fettle::kernels
