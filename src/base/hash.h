// 64-bit content hashes (XXH3). Used for cache keys; not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fettle {

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t HashText(std::string_view text, uint64_t seed = 0);

}  // namespace fettle
