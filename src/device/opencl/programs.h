// Programs of an OpenCL device: built once, taken from the cache or from a package where that has
// them, and refused where they failed or crashed before.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/opencl/api.h"
#include "device/opencl/program/in_flight.h"
#include "device/opencl/program/program_cache.h"

namespace fettle {

class ProgramLinker;

/// What a program is built from. Equal values are one program.
struct ProgramSource {
  std::string name;     // of the kernel function, for messages
  std::string text;     // OpenCL C, complete
  std::string options;  // as given to clBuildProgram, e.g. "-DTILE=4"
  auto operator<=>(const ProgramSource&) const = default;
};

/// A built program. Thread-safe.
class OpenClProgram {
 public:
  /// `watch`: the cache that keeps what becomes of the first launch; null where that is known.
  OpenClProgram(const OpenClApi& api, cl_program program, std::string key,
                std::shared_ptr<ProgramCache> watch)
      : api_(api),
        program_(program),
        key_(std::move(key)),
        watch_(std::move(watch)),
        watched_(watch_ != nullptr) {}
  ~OpenClProgram() { api_.ReleaseProgram(program_); }
  OpenClProgram(const OpenClProgram&) = delete;
  OpenClProgram& operator=(const OpenClProgram&) = delete;
  cl_program get() const { return program_; }
  const std::string& key() const { return key_; }
  /// What it was built from.
  const ProgramSource& source() const { return source_; }
  void set_source(const ProgramSource& source) { source_ = source; }
  /// Empty where the driver gives none.
  std::vector<std::byte> Binary() const;
  /// What Binary gives of a program that was loaded as other code.
  void set_binary(std::span<const std::byte> binary) {
    binary_.assign(binary.begin(), binary.end());
  }

  /// Whether no launch of it is known to have ended, so that the next one is to be watched.
  bool watched() const { return watched_.load(std::memory_order_relaxed); }
  /// The marker around a watched launch; null where none can be written.
  std::unique_ptr<InFlight> BeginLaunch() const {
    return InFlight::Begin(watch_->flight_folder(), key_);
  }
  /// A watched launch has run to its end: the program is trusted from now on.
  void Trust();

 private:
  const OpenClApi& api_;
  cl_program program_;
  ProgramSource source_;
  std::string key_;
  std::vector<std::byte> binary_;
  std::shared_ptr<ProgramCache> watch_;
  std::atomic<bool> watched_;
};

/// Thread-safe; builds of different programs run at the same time.
class OpenClPrograms {
 public:
  /// `links`: by a ProgramLinker where the driver needs one.
  OpenClPrograms(const OpenClApi& api, std::shared_ptr<void> context, cl_device_id device,
                 std::string fingerprint, std::shared_ptr<ProgramCache> cache, bool links = false);
  ~OpenClPrograms();

  /// The program of `source`. kBuildFailed with the compiler's log, also of an earlier process; or
  /// where two processes died while building or first launching it.
  Result<std::shared_ptr<OpenClProgram>> Get(const ProgramSource& source);

  /// The binaries of all programs that were asked for.
  std::vector<ProgramBinary> Export() const;
  /// Binaries to take before building, and before those of the cache that never ran to their end.
  /// Those of another driver have other keys and are not used.
  void Import(std::vector<ProgramBinary> binaries);

  ProgramStatistics statistics() const;
  const std::shared_ptr<ProgramCache>& cache() const { return cache_; }

 private:
  /// One per source; its mutex is held while the program is made, so that it is made once.
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<OpenClProgram> program;
    Status failure;
  };
  Result<std::shared_ptr<OpenClProgram>> Make(const ProgramSource& source);
  Result<std::shared_ptr<OpenClProgram>> Build(const ProgramSource& source, const std::string& key);
  /// By the compiler of this process.
  Result<std::shared_ptr<OpenClProgram>> BuildHere(const ProgramSource& source,
                                                   const std::string& key);
  /// Counts the binary of a program that was built since `start_ns`, and keeps it.
  void Keep(const std::string& key, std::span<const std::byte> binary, int64_t start_ns);
  /// A failure that would come again, and is kept; `log` is what is said of it then.
  Status Refuse(const ProgramSource& source, const std::string& key, std::string_view why,
                std::string_view log);
  Status CountFailure(const ProgramSource& source, std::string_view why, std::string_view log);
  std::shared_ptr<OpenClProgram> LoadCode(const ProgramSource& source, const std::string& key,
                                          std::span<const std::byte> code, bool launched);
  std::shared_ptr<OpenClProgram> Load(const ProgramSource& source, const std::string& key,
                                      std::span<const std::byte> binary, bool launched);
  /// Null where no package has it. `is_new`: the cache has nothing of it.
  std::shared_ptr<OpenClProgram> TakeImported(const ProgramSource& source, const std::string& key,
                                              bool is_new);
  Status CheckCrashes(const ProgramSource& source, const std::string& key) const;
  /// A marker where there is a cache to keep it.
  std::unique_ptr<InFlight> Begin(const std::string& key) const;

  const OpenClApi& api_;
  std::shared_ptr<void> context_;
  cl_device_id device_;
  std::string fingerprint_;
  std::shared_ptr<ProgramCache> cache_;    // may be null
  std::unique_ptr<ProgramLinker> linker_;  // may be null
  mutable std::mutex mutex_;               // guards what follows
  std::map<ProgramSource, std::shared_ptr<Slot>> slots_;
  std::map<std::string, std::vector<std::byte>> imported_;
  ProgramStatistics statistics_;
};

}  // namespace fettle
