#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/file.h"

namespace fettle {

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t HashMapped(std::span<const std::byte> bytes) {
  constexpr size_t kPiece = size_t{1} << 20;
  if (bytes.size() <= kPiece) return HashBytes(bytes);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const auto piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
    XXH3_64bits_update(&state, piece.data(), piece.size());
    DropMappedPages(piece);
  }
  return XXH3_64bits_digest(&state);
}

uint64_t HashText(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace fettle
