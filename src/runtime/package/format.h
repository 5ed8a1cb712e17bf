// The bytes around the index of a package (docs/package.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fettle::runtime::package {

/// How every package starts; the last two bytes show a file that was copied as text.
inline constexpr std::string_view kMagic = "FETTLE\x1a\n";
/// Of the index and of what it means. The header never changes.
inline constexpr uint32_t kFormat = 1;
/// Sections begin at multiples of it and have as many zeros behind them: kernels read packed
/// weights in place, as they read planned tensors.
inline constexpr uint64_t kAlignment = 64;
/// The limit of FlatBuffers, with room.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;
/// Constants up to this size stand in the index.
inline constexpr int64_t kInlineBytes = 4096;
/// Sub-graphs deeper than this are refused.
inline constexpr int kMaxDepth = 16;

/// Little-endian, at the start of the file; the index follows.
struct Header {
  char magic[8];
  uint32_t format;
  uint32_t reserved;
  uint64_t file_bytes;
  uint64_t index_bytes;
  uint64_t index_hash;  // XXH3
  uint64_t unused[2];
  uint64_t header_hash;  // XXH3 of the bytes before
};
static_assert(sizeof(Header) == kAlignment);

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
/// Where the first section begins in the file.
constexpr uint64_t SectionsBegin(uint64_t index_bytes) {
  return RoundUp(sizeof(Header) + index_bytes);
}
/// What a section takes, with the zeros behind it.
constexpr uint64_t SectionSpan(uint64_t bytes) { return RoundUp(bytes + kAlignment); }

}  // namespace fettle::runtime::package
