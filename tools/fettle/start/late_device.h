// A device that is opened while the CPU already answers (`--start fast`).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jobs/options.h"
#include "runtime/session.h"

namespace fettle::tools {

/// The device that --device names. Thread-safe.
class LateDevice {
 public:
  explicit LateDevice(CommonOptions options) : options_(std::move(options)) {}

  /// Whether `options` name a device whose failure leaves the run to the CPU.
  static bool Suits(const CommonOptions& options);
  /// `options` for the CPU that answers meanwhile.
  static CommonOptions OnTheCpu(CommonOptions options);

  const std::string& name() const { return options_.device; }
  /// Opens it, and says what a session on it is made with: `like`, which has none. Its warnings go
  /// to the log.
  Result<runtime::SessionOptions> Open(runtime::SessionOptions like);
  /// Null: not opened so far.
  std::shared_ptr<const Device> device() const;

 private:
  const CommonOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<void> compilers_;  // CompileAside
};

/// A session with these options; with `late` (null: none) on the CPU until that is ready.
Result<std::shared_ptr<runtime::Session>> SessionOf(
    const std::shared_ptr<const runtime::Model>& model, const runtime::SessionOptions& options,
    const std::shared_ptr<LateDevice>& late);

}  // namespace fettle::tools
