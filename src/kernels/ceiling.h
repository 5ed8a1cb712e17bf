// A measured ceiling of a device: its name, its value, and how far to trust it.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::kernels {

/// What a ceiling is called and where tables show it. `name` is unique on its device and is kept in
/// databases: equal names mean the same on all backends ("fp32 fma", "int8 dot", "cached read",
/// "launch us").
struct CeilingName {
  std::string name;
  std::string_view unit;    // "FLOP/s", "OP/s", "B/s", "/cycle", "cycles", "GHz" or "us"
  std::string_view group;   // the table that it stands in: "arithmetic", "instructions" ...
  std::string row, column;  // its place there
};

/// A multiply-add counts two operations.
struct Ceiling : CeilingName {
  double value = 0;   // the median of the repeats
  double best = 0;    // what bounds are made of
  double spread = 0;  // how far the worst repeat lay from the best, as a share of the larger
  int repeats = 0;
  /// OK; kUnsupported where the device has no such thing; else what failed. No value then.
  Status status;

  /// The best repeat, or the value where repeats were not recorded.
  double bound() const { return best > 0 ? best : value; }
};

/// Whether less is better, as for times.
bool IsTime(std::string_view unit);

/// The ceiling computed from repeats in its unit: at least one, all finite.
Ceiling FromRepeats(const CeilingName& name, std::vector<double> repeats);
Ceiling NotMeasured(const CeilingName& name, Status why);

/// Which ceilings to measure.
struct ProbeRequest {
  /// Only what bounds need, on one core: a tenth of a second. Otherwise all ceilings of the device.
  bool for_bounds = true;
  /// Only ceilings whose names contain this text; "": all.
  std::string_view only;
  /// May be set from any thread: ceilings that are not measured yet are then left out. Null: never.
  const std::atomic<bool>* cancelled = nullptr;
  /// Cores of the CPU to measure together, beside each figure of one.
  int threads = 1;

  bool Wants(std::string_view name) const { return name.find(only) != std::string_view::npos; }
  bool IsCancelled() const { return cancelled != nullptr && cancelled->load(); }
};

/// "16 KiB", "4 MiB": sizes that are powers of two.
std::string BinarySize(int64_t bytes);

}  // namespace fettle::kernels
