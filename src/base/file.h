// Files: read-only maps of inputs, and outputs that appear whole or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace fettle {

/// A file mapped read-only for as long as the object lives. Immutable, thread-safe.
class MappedFile {
 public:
  /// Fails with kNotFound or kIo; directories and special files are refused. An empty file gives an
  /// empty span.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  std::string path_;
  std::span<const std::byte> bytes_;
};

/// Gives back the memory of the pages that `range` touches, if a living MappedFile holds it all;
/// they are read from the file again on demand. Does nothing for other memory. Thread-safe.
void DropMappedPages(std::span<const std::byte> range);
/// The same for the whole file that `byte` lies in.
void DropMappedFile(const std::byte* byte);

/// Writes a file piece by piece to a temporary one beside `path`, which takes its place at Commit;
/// without Commit nothing is left. Devices and pipes are written to at once. Belongs to one thread.
class FileWriter {
 public:
  static Result<std::unique_ptr<FileWriter>> Create(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  Status Write(std::span<const std::byte> bytes);
  /// Makes the file durable and visible; nothing may be written afterwards.
  Status Commit();

 private:
  FileWriter(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  std::string path_, temporary_;
  int fd_;
  bool committed_ = false;
};

/// Writes `bytes` to a temporary file beside `path` and renames it over `path`; on failure nothing
/// is left behind.
Status WriteFile(const std::string& path, std::span<const std::byte> bytes);
Status WriteTextFile(const std::string& path, std::string_view text);

/// Bytes per second at which a file beside `path` becomes durable, by writing 16 MiB and removing
/// them; 0 where that cannot be done.
double DurableBytesPerSecond(const std::string& path);

}  // namespace fettle
