#include "io/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "base/file.h"

namespace fettle::tools {
namespace {

Status TooLong(const std::string& path, size_t limit) {
  return InvalidArgument("{}: more than {} bytes of text", path, limit);
}

bool IsGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

/// Ends the stream on every way out.
struct Inflater {
  z_stream stream = {};
  ~Inflater() { inflateEnd(&stream); }
};

Result<std::string> Inflate(const std::string& path, std::span<const std::byte> bytes,
                            size_t limit) {
  constexpr int kGzipWindow = 15 + 16;
  constexpr size_t kStep = size_t{1} << 20;
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK)
    return Error(StatusCode::kOutOfMemory, "{}: out of memory", path);
  std::string text;
  size_t taken = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t part = std::min(bytes.size() - taken, kStep);
      // zlib never writes through next_in.
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data() + taken));
      stream.avail_in = static_cast<uInt>(part);
      taken += part;
    }
    const size_t filled = text.size();
    if (filled > limit) return TooLong(path, limit);
    text.resize(filled + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream.avail_out = static_cast<uInt>(kStep);
    code = inflate(&stream, Z_NO_FLUSH);
    text.resize(filled + kStep - stream.avail_out);
    if (code != Z_OK && code != Z_STREAM_END)
      return Error(StatusCode::kCorrupt, "{}: damaged gzip data", path);
  }
  if (text.size() > limit) return TooLong(path, limit);
  return text;
}

}  // namespace

Result<std::string> ReadMaybeGzip(const std::string& path, size_t limit) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  if (IsGzip(bytes)) return Inflate(path, bytes, limit);
  if (bytes.size() > limit) return TooLong(path, limit);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace fettle::tools
