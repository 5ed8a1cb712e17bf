#include "basics/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "basics/failure.h"

namespace fettle::enhance {
namespace {

[[noreturn]] void FailWith(const std::filesystem::path& path, const char* what) {
  throw Failure(kExitFailed, fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : file_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (file_ < 0) FailWith(path, "cannot be opened");
  }
  ~Descriptor() { close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

void WriteAndSync(const std::filesystem::path& path, int flags, std::string_view bytes) {
  const Descriptor file(path, flags);
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailWith(path, "cannot write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(file.get()) != 0) FailWith(path, "cannot write");
}

}  // namespace

void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  WriteAndSync(path, O_WRONLY | O_CREAT | O_TRUNC, bytes);
}

void WriteWhole(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path beside = path;
  beside += fmt::format(".{}.part", getpid());
  try {
    WriteFile(beside, bytes);
    MoveInPlace(beside, path);
  } catch (const Failure&) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw;
  }
}

void AppendLine(const std::filesystem::path& path, std::string_view line) {
  WriteAndSync(path, O_WRONLY | O_CREAT | O_APPEND, std::string(line) + "\n");
}

void MoveInPlace(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (fsync(Descriptor(from, O_RDONLY).get()) != 0) FailWith(from, "cannot write");
  if (rename(from.c_str(), to.c_str()) != 0) FailWith(to, "cannot write");
  const auto folder = to.has_parent_path() ? to.parent_path() : std::filesystem::path(".");
  (void)fsync(Descriptor(folder, O_RDONLY | O_DIRECTORY).get());
}

uint64_t HashFile(const std::filesystem::path& path, uint64_t offset, uint64_t most,
                  uint64_t seed) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.seekg(static_cast<std::streamoff>(offset)))
    throw Failure(kExitInvalidInput, FETTLE_IO, path.string() + ": cannot be read");
  std::vector<char> block(1 << 16);
  uint64_t hash = seed;
  while (most > 0 && file) {
    file.read(block.data(), static_cast<std::streamsize>(std::min<uint64_t>(most, block.size())));
    const auto count = static_cast<uint64_t>(file.gcount());
    for (uint64_t i = 0; i < count; ++i)
      hash = (hash ^ static_cast<unsigned char>(block[i])) * 0x100000001b3;
    most -= count;
  }
  return hash;
}

std::string FingerprintOf(const std::filesystem::path& path) {
  constexpr uint64_t kEnd = 1 << 20;
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) throw Failure(kExitInvalidInput, FETTLE_NOT_FOUND, path.string() + ": no such file");
  uint64_t hash = HashFile(path, 0, kEnd);
  if (bytes > kEnd) hash = HashFile(path, bytes - kEnd, kEnd, hash);
  return fmt::format("{}-{:016x}", bytes, hash);
}

FileLock::FileLock(const std::filesystem::path& path)
    : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (file_ < 0) FailWith(path, "cannot be opened");
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  close(file_);
  throw Failure(kExitFailed, FETTLE_BUSY,
                path.parent_path().string() + ": another process is working on this job");
}

FileLock::~FileLock() { close(file_); }

}  // namespace fettle::enhance
