#include "av/memory_file.h"

#include <algorithm>
#include <cstring>

namespace fettle::enhance {

MemoryFile::~MemoryFile() {
  if (io_ != nullptr) av_freep(&io_->buffer);
  avio_context_free(&io_);
}

void MemoryFile::Open(bool writes) {
  constexpr int kBuffer = 1 << 16;
  if (io_ != nullptr) {
    avio_flush(io_);
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
  at_ = 0;
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBuffer));
  if (buffer == nullptr) throw std::bad_alloc();
  io_ = avio_alloc_context(buffer, kBuffer, writes ? 1 : 0, this, Read, Write, Seek);
  if (io_ == nullptr) {
    av_free(buffer);
    throw std::bad_alloc();
  }
}

OutputPtr MemoryFile::Output(const AVOutputFormat& container, const std::filesystem::path& name) {
  AVFormatContext* made = nullptr;
  CheckAv(avformat_alloc_output_context2(&made, &container, nullptr, name.c_str()), name.string());
  OutputPtr output(made);
  Open(true);
  written_as_ = av_find_input_format(container.name);
  output->pb = io_;
  output->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  output->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  return output;
}

InputPtr MemoryFile::Input() {
  Open(false);
  AVFormatContext* format = avformat_alloc_context();
  if (format == nullptr) throw std::bad_alloc();
  format->pb = io_;
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  CheckAv(avformat_open_input(&format, nullptr, written_as_, nullptr), "a file in memory");
  InputPtr input(format);
  CheckAv(avformat_find_stream_info(format, nullptr), "a file in memory");
  return input;
}

int MemoryFile::Read(void* self, uint8_t* to, int size) {
  auto& file = *static_cast<MemoryFile*>(self);
  const auto left = static_cast<int64_t>(file.bytes_.size()) - file.at_;
  if (left <= 0) return AVERROR_EOF;
  const auto count = static_cast<int>(std::min<int64_t>(left, size));
  std::memcpy(to, file.bytes_.data() + file.at_, static_cast<size_t>(count));
  file.at_ += count;
  return count;
}

int MemoryFile::Write(void* self, uint8_t* from, int size) {
  auto& file = *static_cast<MemoryFile*>(self);
  const auto end = static_cast<size_t>(file.at_ + size);
  if (file.bytes_.size() < end) file.bytes_.resize(end);
  std::memcpy(file.bytes_.data() + file.at_, from, static_cast<size_t>(size));
  file.at_ += size;
  return size;
}

int64_t MemoryFile::Seek(void* self, int64_t offset, int whence) {
  auto& file = *static_cast<MemoryFile*>(self);
  const auto size = static_cast<int64_t>(file.bytes_.size());
  if (whence & AVSEEK_SIZE) return size;
  const int origin = whence & ~AVSEEK_FORCE;
  const int64_t to = offset + (origin == SEEK_CUR ? file.at_ : origin == SEEK_END ? size : 0);
  if (to < 0) return AVERROR(EINVAL);
  return file.at_ = to;
}

}  // namespace fettle::enhance
