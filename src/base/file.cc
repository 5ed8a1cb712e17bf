#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace fettle {
namespace {

/// Closes a descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status IoError(const std::string& path, const char* action) {
  if (errno == ENOENT) return Error(StatusCode::kNotFound, "{}: no such file", path);
  return Error(StatusCode::kIo, "{}: cannot {}: {}", path, action, std::strerror(errno));
}

/// Of what is written: a folder that is not there is no input that was not found.
Status WriteError(const std::string& path, const char* action) {
  return Error(StatusCode::kIo, "{}: cannot {}: {}", path, action, std::strerror(errno));
}

Status WriteAll(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path, "write");
    bytes = bytes.subspan(written);
  }
  return OkStatus();
}

/// Living mappings, begin to end: what may be dropped without losing anything.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, const std::byte*> ends;
};
Mappings& GetMappings() {
  static Mappings mappings;
  return mappings;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return IoError(path, "open");
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return IoError(path, "stat");
  if (!S_ISREG(info.st_mode)) return Error(StatusCode::kIo, "{}: not a regular file", path);
  std::span<const std::byte> bytes;
  if (info.st_size > 0) {
    const size_t size = info.st_size;
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED) return IoError(path, "map");
    bytes = {static_cast<const std::byte*>(mapped), size};
    std::lock_guard lock(GetMappings().mutex);
    GetMappings().ends.emplace(bytes.data(), bytes.data() + bytes.size());
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  {
    std::lock_guard lock(GetMappings().mutex);
    GetMappings().ends.erase(bytes_.data());
  }
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

/// The living mapping that holds `byte`, or an empty span. Needs the mutex.
std::span<const std::byte> MappingOf(const Mappings& mappings, const std::byte* byte) {
  auto holder = mappings.ends.upper_bound(byte);
  if (holder == mappings.ends.begin()) return {};
  --holder;
  if (byte >= holder->second) return {};
  return {holder->first, holder->second};
}

/// Pages are private and never written, so dropping one loses nothing.
void Drop(const std::byte* begin, const std::byte* end) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(begin) / page * page;
  const auto last = (reinterpret_cast<uintptr_t>(end) + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace

void DropMappedPages(std::span<const std::byte> range) {
  if (range.empty()) return;
  Mappings& mappings = GetMappings();
  std::lock_guard lock(mappings.mutex);
  const std::span<const std::byte> mapping = MappingOf(mappings, range.data());
  if (mapping.empty() || range.data() + range.size() > mapping.data() + mapping.size()) return;
  Drop(range.data(), range.data() + range.size());
}

void DropMappedFile(const std::byte* byte) {
  Mappings& mappings = GetMappings();
  std::lock_guard lock(mappings.mutex);
  const std::span<const std::byte> mapping = MappingOf(mappings, byte);
  if (!mapping.empty()) Drop(mapping.data(), mapping.data() + mapping.size());
}

namespace {

/// Where a link leads; `path` itself where there is none to follow.
std::string FollowLinks(const std::string& path) {
  char* const resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string target = resolved;
  std::free(resolved);
  return target;
}

}  // namespace

Result<std::unique_ptr<FileWriter>> FileWriter::Create(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // A rename would put a file in the place of the device or pipe.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return WriteError(path, "open for writing");
    return std::unique_ptr<FileWriter>(new FileWriter(path, "", fd));
  }
  const std::string target = FollowLinks(path);
  std::string temporary = target + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return Error(StatusCode::kIo, "{}: cannot be written: no such folder", path);
  if (fd < 0) return WriteError(path, "create a temporary file beside it");
  return std::unique_ptr<FileWriter>(new FileWriter(target, std::move(temporary), fd));
}

FileWriter::~FileWriter() {
  ::close(fd_);
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

Status FileWriter::Write(std::span<const std::byte> bytes) { return WriteAll(fd_, path_, bytes); }

Status FileWriter::Commit() {
  if (temporary_.empty()) return OkStatus();
  if (::fchmod(fd_, 0644) != 0) return WriteError(path_, "set its mode");
  if (::fsync(fd_) != 0) return WriteError(path_, "write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return WriteError(path_, "rename a file to it");
  committed_ = true;
  return OkStatus();
}

Status WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> writer, FileWriter::Create(path));
  RETURN_IF_ERROR(writer->Write(bytes));
  return writer->Commit();
}

Status WriteTextFile(const std::string& path, std::string_view text) {
  return WriteFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

double DurableBytesPerSecond(const std::string& path) {
  const std::vector<std::byte> some(size_t{16} << 20, std::byte{1});
  std::string temporary = FollowLinks(path) + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return 0;
  const int64_t begin = NowNs();
  const bool written = WriteAll(fd, temporary, some).ok() && ::fsync(fd) == 0;
  const int64_t ns = NowNs() - begin;
  ::close(fd);
  ::unlink(temporary.c_str());
  return written ? static_cast<double>(some.size()) * 1e9 / static_cast<double>(ns) : 0;
}

}  // namespace fettle
