// A package: a model with all that was learned of it on one device, in one file (docs/package.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "exec/packed_store.h"
#include "ir/graph.h"
#include "planner/plan_book.h"
#include "runtime/package/sections.h"

namespace fettle::runtime {

class Model;

/// What a package says of itself. Times are of the whole model, 0 where not known.
struct PackageInfo {
  std::string library;      // LibraryVersion()
  std::string build;        // kernels::BuildId()
  std::string device;       // Device::fingerprint()
  std::string device_name;  // Device::name()
  int threads = 0;
  double default_ms = 0;    // measured, on the plan that heuristics make
  double measured_ms = 0;   // measured, on the plan of the package
  double predicted_ms = 0;  // the sum of the costs that the plan was chosen by
  int64_t measurements = 0;
  uint64_t seed = 0;
  int64_t unix_seconds = 0;

  bool operator==(const PackageInfo&) const = default;
  /// This library on `device`, made now.
  static PackageInfo For(const DeviceSet& devices, int threads);
};

/// What a package may hold beside a model and its plans.
struct PackageExtras {
  /// As they were built; read while the package is written.
  std::span<const ProgramBinary> programs = {};
  /// All packed weights that living sessions of the model use, beside the weights as they are: a
  /// larger file, whose weights are read in place and not packed when it is loaded.
  bool packed_weights = false;
};

/// Writes `model` as it is after load-time passes, each weight once, the decisions of `book`, and
/// `extras`. The file appears whole or not at all. Fails with kIo, or with kUnsupported on what a
/// package cannot hold.
Status SavePackage(const std::string& path, const Model& model, const planner::PlanBook& book,
                   const PackageInfo& info, const PackageExtras& extras = {});

/// "<model>.<device>.fettle": `model_path` without folder and extension, the device's name in small
/// letters, digits and '-'.
std::string PackageFileName(std::string_view model_path, const DeviceSet& devices);

/// A package that was opened. Immutable, thread-safe, keeps the file mapped.
class Package {
 public:
  /// Whether a file that starts with `bytes` is, or was, a package.
  static bool IsPackage(std::span<const std::byte> bytes);
  /// Checks all of it, each byte once, and makes the graph. `owner` keeps `bytes` alive, which are
  /// 64-byte aligned; `name` starts messages. Fails with kCorrupt, kVersionMismatch (another
  /// format), or kUnsupported (an unknown operator).
  static Result<std::shared_ptr<const Package>> Open(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner,
                                                     const std::string& name);

  const PackageInfo& info() const { return info_; }
  const std::shared_ptr<const ir::Graph>& graph() const { return graph_; }
  const std::vector<planner::BookEntry>& decisions() const { return decisions_; }
  size_t program_count() const { return programs_.size(); }
  /// Programs as their driver built them, copied.
  std::vector<ProgramBinary> programs() const;
  size_t packed_count() const { return packed_.size(); }
  int64_t packed_bytes() const;
  /// Hands the packed weights to `store`.
  void ProvidePacked(exec::PackedStore& store) const;

 private:
  struct Packed {
    exec::PackedKey key;
    uint32_t section = 0;
  };
  Package() = default;
  Status Read(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  PackageInfo info_;
  std::shared_ptr<const package::Sections> sections_;
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<planner::BookEntry> decisions_;
  std::vector<Packed> packed_;
  struct Program {
    std::string key;
    uint32_t section = 0;
  };
  std::vector<Program> programs_;
};

}  // namespace fettle::runtime
