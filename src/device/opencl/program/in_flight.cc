#include "device/opencl/program/in_flight.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>

namespace fettle {
namespace fs = std::filesystem;
namespace {

constexpr const char* kNew = ".new";
constexpr const char* kFlight = ".flight";
constexpr const char* kCrash = ".crash";

/// Calls `visit` with each file of `folder` that belongs to `key`.
template <typename F>
void ForEach(const std::string& folder, const std::string& key, F visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(key + ".")) visit(at->path());
  }
}

/// Turns the marker of a process that died into a crash. Renaming decides between several finders.
void BuryOrphan(const fs::path& marker) {
  const int file = ::open(marker.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat info {};
  const bool orphan = ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &info) == 0 &&
                      info.st_nlink > 0;  // else its owner removed it just now
  if (orphan) {
    std::error_code ignored;
    fs::rename(marker, fs::path(marker).replace_extension(kCrash), ignored);
  }
  ::close(file);
}

}  // namespace

std::unique_ptr<InFlight> InFlight::Begin(const std::string& folder, const std::string& key) {
  static std::atomic<int> count = 0;
  // Containers give the same process numbers again and again, hence the time.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string stem = fmt::format("{}/{}.{}-{}-{}", folder, key, ::getpid(), ++count, now);
  // Locked before it has its name: nobody may find it unlocked.
  const int file = ::open((stem + kNew).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return nullptr;
  std::error_code error;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) fs::rename(stem + kNew, stem + kFlight, error);
  return std::unique_ptr<InFlight>(new InFlight(stem + kFlight, file));
}

InFlight::~InFlight() {
  ::unlink(path_.c_str());
  ::close(file_);
}

int InFlight::Crashes(const std::string& folder, const std::string& key) {
  ForEach(folder, key, [](const fs::path& path) {
    if (path.extension() == kFlight) BuryOrphan(path);
  });
  int crashes = 0;
  ForEach(folder, key, [&](const fs::path& path) { crashes += path.extension() == kCrash; });
  return crashes;
}

void InFlight::Forgive(const std::string& folder, const std::string& key) {
  ForEach(folder, key, [](const fs::path& path) {
    std::error_code ignored;
    if (path.extension() == kCrash) fs::remove(path, ignored);
  });
}

}  // namespace fettle
