#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fettle {

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t HashText(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

}  // namespace fettle
