// Files that are there whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fettle::enhance {

/// Writes and syncs. Throws Failure.
void WriteFile(const std::filesystem::path& path, std::string_view bytes);
/// Writes and syncs a neighbour of `path`, then renames it to `path`. Throws Failure.
void WriteWhole(const std::filesystem::path& path, std::string_view bytes);
/// Appends a line and syncs it. Throws Failure.
void AppendLine(const std::filesystem::path& path, std::string_view line);
/// Syncs `from`, renames it to `to`, and syncs the folder of `to`. Throws Failure.
void MoveInPlace(const std::filesystem::path& from, const std::filesystem::path& to);
/// FNV-1a of at most `most` bytes from `offset` on, or of all of them, going on from `seed`. Throws
/// Failure where the file cannot be read.
inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325;
uint64_t HashFile(const std::filesystem::path& path, uint64_t offset = 0,
                  uint64_t most = UINT64_MAX, uint64_t seed = kHashSeed);

/// Tells a file from others: its size and a hash of both its ends. Throws Failure.
std::string FingerprintOf(const std::filesystem::path& path);

/// An exclusive lock that its process holds; the file stays. Throws Failure where another has it.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace fettle::enhance
