#include "device/opencl/program/program_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

namespace fettle {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kFormat = 1;
constexpr uint64_t kMagic = 0x6d6172676f727046;  // "Fprogram"
/// Temporary files of processes that died are removed after that.
constexpr auto kStale = std::chrono::hours(1);

/// In front of the payload. `launched` is written later, in place, and no part of the checksum.
struct Header {
  uint64_t magic = kMagic;
  uint32_t format = kFormat;
  uint32_t kind = 0;
  uint64_t key = 0;
  uint64_t payload_bytes = 0;
  uint64_t payload_hash = 0;
  uint64_t header_hash = 0;  // of all above
  uint64_t launched = 0;     // 1, or 0
};
static_assert(sizeof(Header) == 56 && std::is_trivially_copyable_v<Header>);

uint64_t HashOf(const Header& header) {
  return HashBytes(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_hash)));
}

Header HeaderOf(const std::string& key, ProgramCache::Kind kind,
                std::span<const std::byte> payload) {
  Header header{.kind = static_cast<uint32_t>(kind), .key = HashText(key)};
  header.payload_bytes = payload.size();
  header.payload_hash = HashBytes(payload);
  header.header_hash = HashOf(header);
  return header;
}

std::optional<ProgramCache::Entry> Parse(const std::string& key, std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::span<const std::byte> payload = bytes.subspan(sizeof(header));
  const auto kind = static_cast<ProgramCache::Kind>(header.kind);
  if (header.header_hash != HashOf(header) || header.magic != kMagic || header.format != kFormat ||
      header.key != HashText(key) || header.payload_bytes != payload.size() ||
      header.payload_hash != HashBytes(payload) ||
      (kind != ProgramCache::Kind::kBinary && kind != ProgramCache::Kind::kFailure))
    return std::nullopt;
  return ProgramCache::Entry{kind, {payload.begin(), payload.end()}, header.launched == 1};
}

/// Writes both to a temporary file and renames it to `path`. Not flushed to the disk, which takes
/// longer than many a build: what a power failure leaves is found damaged and built again.
Status WriteEntry(const std::string& path, const Header& header,
                  std::span<const std::byte> payload) {
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  const auto put = [file](const void* data, size_t size) {
    return ::write(file, data, size) == static_cast<ssize_t>(size);
  };
  const bool written = file >= 0 && put(&header, sizeof(header)) &&
                       put(payload.data(), payload.size()) && ::fchmod(file, 0644) == 0 &&
                       ::rename(temporary.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (written) return OkStatus();
  if (file >= 0) ::unlink(temporary.c_str());
  return Error(StatusCode::kIo, "{}: cannot write: {}", path, std::strerror(error));
}

struct FileInfo {
  fs::path path;
  fs::file_time_type used;
  int64_t bytes;
};

/// The entries of a folder, least recently used first; removes what dead processes left.
std::vector<FileInfo> ListEntries(const std::string& folder, const char* suffix) {
  std::vector<FileInfo> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const auto used = at->last_write_time(gone);
    if (gone || !at->is_regular_file(gone)) continue;
    if (at->path().extension() != suffix) {
      const bool is_temporary = at->path().stem().extension() == suffix;
      if (is_temporary && fs::file_time_type::clock::now() - used > kStale)
        fs::remove(at->path(), gone);
      continue;
    }
    const auto bytes = at->file_size(gone);
    if (!gone) files.push_back({at->path(), used, static_cast<int64_t>(bytes)});
  }
  std::sort(files.begin(), files.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.used < b.used; });
  return files;
}

constexpr bool KeepsUnasked() {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ProgramKey(std::string_view source, std::string_view options,
                       std::string_view fingerprint) {
  const std::string text = fmt::format("{} {}:{} {}:{} {}:{}", kFormat, source.size(), source,
                                       options.size(), options, fingerprint.size(), fingerprint);
  return fmt::format("{:016x}{:016x}", HashText(text), HashText(text, kMagic));
}

std::string ProgramFolder(const std::string& folder) {
  if (!folder.empty()) return fs::path(folder) / "programs";
  const std::string cache = Environment("XDG_CACHE_HOME"), home = Environment("HOME");
  if (cache.empty() && home.empty()) return "";
  return (cache.empty() ? fs::path(home) / ".cache" : fs::path(cache)) / "fettle" / "programs";
}

Result<std::shared_ptr<ProgramCache>> ProgramCache::Open(ProgramCacheOptions options) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (!fs::is_directory(options.folder))
    return Error(StatusCode::kIo, "{}: cannot make the folder of programs: {}", options.folder,
                 error ? error.message() : "it is a file");
  return std::shared_ptr<ProgramCache>(new ProgramCache(std::move(options)));
}

ProgramCache::ProgramCache(ProgramCacheOptions options)
    : options_(std::move(options)), flights_(options_.folder + "/in_flight") {
  std::error_code ignored;  // of a read-only folder: nothing is tried under a marker then
  fs::create_directories(flights_, ignored);
}

std::optional<ProgramCache::Entry> ProgramCache::Find(const std::string& key) {
  const std::string path = PathOf(key);
  const auto file = MappedFile::Open(path);
  if (!file.ok()) return std::nullopt;
  std::optional<Entry> entry = Parse(key, (*file)->bytes());
  if (entry) {
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // a read-only folder keeps its order
    return entry;
  }
  Log(LogLevel::kInfo, "{}: damaged, or of another version; built again", path);
  Remove(key);
  std::lock_guard lock(mutex_);
  ++statistics_.damaged;
  return std::nullopt;
}

void ProgramCache::Put(const std::string& key, Kind kind, std::span<const std::byte> payload) {
  const Header header = HeaderOf(key, kind, payload);
  const Status status = WriteEntry(PathOf(key), header, payload);
  if (!status.ok()) return Report(status);
  std::lock_guard lock(mutex_);
  if (bytes_ >= 0) bytes_ += static_cast<int64_t>(sizeof(header) + payload.size());
  if (bytes_ < 0 || bytes_ > options_.most_bytes) Evict();
}

/// Down to three quarters of the bound, so that not every program looks through the folder.
void ProgramCache::Evict() {
  const std::vector<FileInfo> files = ListEntries(options_.folder, kSuffix);
  bytes_ = 0;
  for (const FileInfo& file : files) bytes_ += file.bytes;
  if (bytes_ <= options_.most_bytes) return;
  for (const FileInfo& file : files) {
    if (bytes_ <= options_.most_bytes / 4 * 3) return;
    std::error_code error;
    if (!fs::remove(file.path, error)) continue;
    bytes_ -= file.bytes;
    ++statistics_.evicted;
  }
}

void ProgramCache::Remove(const std::string& key) {
  std::error_code ignored;
  fs::remove(PathOf(key), ignored);
}

void ProgramCache::MarkLaunched(const std::string& key) {
  const int file = ::open(PathOf(key).c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const uint64_t launched = 1;
  const ssize_t written =
      ::pwrite(file, &launched, sizeof(launched), static_cast<off_t>(offsetof(Header, launched)));
  static_cast<void>(written);  // else it is watched once more
  ::close(file);
}

void ProgramCache::Report(const Status& status) {
  std::lock_guard lock(mutex_);
  if (!reported_) Log(LogLevel::kWarn, "{}; programs are not kept", status.message());
  reported_ = true;
}

ProgramCache::Statistics ProgramCache::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

bool KeepsPrograms(const char* folder) {
  if (folder == nullptr || (*folder == '\0' && !KeepsUnasked())) return false;
  std::error_code error;
  for (fs::directory_iterator at(ProgramFolder(folder), error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) return true;
  return false;
}

std::shared_ptr<ProgramCache> OpenUserProgramCache(const std::string& folder) {
  if (folder.empty() && !KeepsUnasked()) return nullptr;
  const std::string place = ProgramFolder(folder);
  if (place.empty()) return nullptr;
  const Result<std::shared_ptr<ProgramCache>> cache = ProgramCache::Open({.folder = place});
  if (!cache.ok()) Log(LogLevel::kWarn, "{}", cache.status().message());
  return cache.ok() ? *cache : nullptr;
}

}  // namespace fettle
