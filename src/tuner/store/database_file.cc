#include "tuner/store/database_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/clock.h"

namespace fettle::tuner {
namespace {

namespace fs = std::filesystem;

constexpr int kAsideNames = 3;
constexpr int64_t kLockNs = 5'000'000'000;

/// An absolute path of the environment; others mean nothing (XDG base directory specification).
std::string FolderOf(const char* variable) {
  const char* folder = std::getenv(variable);
  return folder != nullptr && folder[0] == '/' ? folder : "";
}

fs::path ParentOf(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

/// The first of `path`.aside, `path`.aside2, ... that is free, else the last of them.
std::string FreeName(const std::string& path) {
  std::string name = path + ".aside";
  std::error_code ignored;
  for (int i = 2;
       i <= kAsideNames && fs::symlink_status(name, ignored).type() != fs::file_type::not_found;
       ++i)
    name = fmt::format("{}.aside{}", path, i);
  return name;
}

}  // namespace

std::string DatabasePath(const std::string& folder) {
  fs::path place = folder;
  if (folder.empty()) {
    const std::string cache = FolderOf("XDG_CACHE_HOME"), home = FolderOf("HOME");
    if (cache.empty() && home.empty()) return "";
    place = (cache.empty() ? fs::path(home) / ".cache" : fs::path(cache)) / "fettle";
  }
  return place / "tuning.db";
}

Result<std::string> ResolveDatabase(const std::string& path) {
  std::error_code error;
  fs::create_directories(ParentOf(path), error);
  if (error) return Error(StatusCode::kIo, "{}: cannot make its folder: {}", path, error.message());
  const fs::path resolved = fs::canonical(path, error);
  if (error == std::errc::no_such_file_or_directory) return path;
  if (error == std::errc::too_many_symbolic_link_levels)
    return Error(StatusCode::kCorrupt, "{}: a link to itself", path);
  if (error) return Error(StatusCode::kIo, "{}: {}", path, error.message());
  if (!fs::is_regular_file(resolved, error))
    return Error(StatusCode::kCorrupt, "{}: not a file", path);
  return resolved.string();
}

Result<std::string> SetAside(const std::string& path) {
  const std::string aside = FreeName(path);
  // The log goes first: a new database must never meet the log of the old one.
  std::error_code error;
  fs::remove(path + "-shm", error);
  for (const char* suffix : {"-wal", "-journal", ""}) {
    fs::rename(path + suffix, aside + suffix, error);
    if (error && (error != std::errc::no_such_file_or_directory || *suffix == '\0'))
      return Error(StatusCode::kIo, "{}: cannot be renamed to {}: {}", path, aside,
                   error.message());
  }
  return aside;
}

FolderLock::FolderLock(const std::string& path_in_folder)
    : fd_(::open(ParentOf(path_in_folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const int64_t end = NowNs() + kLockNs;
  while (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && NowNs() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

FileIdentity IdentityOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return {};
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

}  // namespace fettle::tuner
