// A file in memory that FFmpeg writes and reads again.
#pragma once

#include <filesystem>
#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// What was written stays as long as this does. One thread's.
class MemoryFile {
 public:
  MemoryFile() = default;
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// To be written; must end before the file does. Throws Failure.
  OutputPtr Output(const AVOutputFormat& container, const std::filesystem::path& name);
  /// What was written, from its begin on, with its streams known, as the container that it was
  /// written in where FFmpeg reads that; must end before the file does.
  InputPtr Input();

 private:
  static int Read(void* self, uint8_t* to, int size);
  static int Write(void* self, uint8_t* from, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);
  void Open(bool writes);

  std::string bytes_;
  const AVInputFormat* written_as_ = nullptr;
  int64_t at_ = 0;
  AVIOContext* io_ = nullptr;
};

}  // namespace fettle::enhance
