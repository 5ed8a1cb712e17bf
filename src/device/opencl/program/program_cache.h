// Built OpenCL programs on disk: shared by processes, checked when read, bounded in size. Also
// remembers which programs fail to build or kill their process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/device.h"

namespace fettle {

/// 32 hexadecimal digits that stand for a program's source, its build options, the device with its
/// driver, and the format of this cache.
std::string ProgramKey(std::string_view source, std::string_view options,
                       std::string_view fingerprint);

/// `folder`/programs, or where `folder` is empty fettle/programs in $XDG_CACHE_HOME or
/// $HOME/.cache; "" where neither is set.
std::string ProgramFolder(const std::string& folder);

struct ProgramCacheOptions {
  std::string folder;
  /// The least recently used entries are removed beyond that.
  int64_t most_bytes = int64_t{256} << 20;
};

/// A folder of programs: `KEY.program` files with a checksummed header and payload, each written
/// beside its place and renamed to it. Trouble with the folder is logged once and never an error:
/// the cache then holds less. Thread-safe; any number of processes may share a folder.
class ProgramCache {
 public:
  enum class Kind : uint32_t { kBinary = 1, kFailure = 2 };
  struct Entry {
    Kind kind;
    std::vector<std::byte> payload;  // the binary, or the compiler's log
    bool launched;                   // a kernel of it has run to its end
  };
  struct Statistics {
    int64_t damaged = 0;  // entries that were not what was written, removed
    int64_t evicted = 0;
  };

  /// Makes the folder. kIo where that is not possible and it is not there either.
  static Result<std::shared_ptr<ProgramCache>> Open(ProgramCacheOptions options);

  /// The entry of `key`, now the most recently used. Damaged and foreign ones are removed.
  std::optional<Entry> Find(const std::string& key);
  void Put(const std::string& key, Kind kind, std::span<const std::byte> payload);
  void Remove(const std::string& key);
  /// Notes that a kernel of the program has run to its end.
  void MarkLaunched(const std::string& key);

  /// Where markers of what is being tried are: `folder`/in_flight.
  const std::string& flight_folder() const { return flights_; }
  const std::string& folder() const { return options_.folder; }
  Statistics statistics() const;

 private:
  explicit ProgramCache(ProgramCacheOptions options);
  std::string PathOf(const std::string& key) const { return options_.folder + "/" + key + kSuffix; }
  void Evict();
  void Report(const Status& status);

  static constexpr const char* kSuffix = ".program";
  ProgramCacheOptions options_;
  std::string flights_;
  mutable std::mutex mutex_;
  Statistics statistics_;  // guarded by mutex_
  int64_t bytes_ = -1;     // in the folder when last looked, plus what was put; -1: not looked yet
  bool reported_ = false;  // guarded by mutex_
};

/// The cache in ProgramFolder(folder); null where that is nowhere or cannot be made, which is
/// logged. Debug and sanitizer builds keep programs only where `folder` is named.
std::shared_ptr<ProgramCache> OpenUserProgramCache(const std::string& folder);
/// Whether anything is kept in that folder; null: nothing is.
bool KeepsPrograms(const char* folder);

}  // namespace fettle
