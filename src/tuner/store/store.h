// What measuring has taught: rows by key, kept between runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fettle::tuner {

/// What was measured, where and by which build. Texts are compared whole.
struct RowKey {
  std::string problem;  // kernels::PrintProblem; "convert ..." for conversions
  std::string kernel;   // KernelDesc::name
  int version = 1;
  std::string params;  // "name=value,..." in order of names
  std::string device;  // Device::fingerprint(); one whose driver can change ends "; driver ..."
  int protocol = 1;    // of measuring
  std::string build;   // kernels::BuildOf: hash of the kernel's sources, compiler, flags

  auto operator<=>(const RowKey&) const = default;
};

/// Crashes over a set of parameters after which it is never tried again: of a single one another
/// program may have been the cause.
inline constexpr int kFatalCrashes = 2;

/// Microseconds. `status`: what came of it.
struct Row {
  enum class Status { kOk, kWrong, kFailed, kCrashed, kStopped };
  Status status = Status::kOk;
  double median_us = 0;
  double mad_us = 0;   // median absolute deviation of the samples
  double low_us = 0;   // lower confidence bound; all that is known of a stopped one
  int samples = 0;     // of kCrashed: how many processes died over it
  double error = 0;    // measured loss of accuracy
  std::string reason;  // for all but kOk; of ceilings (tuner/cost/ceilings.h) the unit
  int64_t unix_seconds = 0;
  /// What the host takes to enqueue it on a device beside the CPU, where that was told apart from
  /// the device's time. Stores keep it as a row of its own (HostKey): no other field of this one
  /// depends on it.
  double host_us = 0;
  /// True where the row comes from another build, driver or protocol: to be checked again.
  bool prior = false;
};

/// Thread-safe; several processes may use one database. A store that cannot be used any more (full
/// disk, lock, damage) warns once through the log and goes on in memory: measuring never fails for
/// its sake.
class Store {
 public:
  virtual ~Store() = default;
  /// The row for exactly this key; else the youngest one that differs in build, protocol or driver
  /// alone, as a prior; else kNotFound.
  virtual Result<Row> Find(const RowKey& key) = 0;
  virtual void Put(const RowKey& key, const Row& row) = 0;
  /// Brackets the first build and launch of an unknown program: the orphan of a process that died
  /// between the two is a crash, and Find then answers kCrashed.
  virtual void BeginFlight(const RowKey& key) = 0;
  virtual void EndFlight(const RowKey& key) = 0;
  /// Decisions (planner/decision.h) by key text.
  virtual Result<std::string> FindDecision(const std::string& key) = 0;
  virtual void PutDecision(const std::string& key, const std::string& text) = 0;
  /// What happened to the database, for people: "", or why it was set aside.
  virtual std::string trouble() const = 0;
  /// Whether what is put outlives this object, as far as is known; false where it was to, and the
  /// database cannot be written (trouble() says why).
  virtual bool is_kept() const { return true; }
};

std::unique_ptr<Store> MemoryStore();

/// Opens or creates the database at `path` (its folder too), with `read_only_layer` (may be empty)
/// under it. Never fails: a corrupt, foreign or unreadable file is renamed aside with a warning and
/// made anew; where nothing can be written, rows are kept in memory, which an empty `path` asks
/// for. Not to be used by a forked child.
std::unique_ptr<Store> OpenStore(const std::string& path, const std::string& read_only_layer = "");

/// The database of this user: tuning.db in `folder` (--cache), or where that is empty in
/// $XDG_CACHE_HOME/fettle, else $HOME/.cache/fettle. Debug and sanitizer builds use that default
/// place for nothing: they keep rows in memory.
std::unique_ptr<Store> OpenUserStore(const std::string& folder = "");

}  // namespace fettle::tuner
