// 64-bit content hashes (XXH3). Used for cache keys; not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fettle {

uint64_t HashBytes(std::span<const std::byte> bytes, uint64_t seed = 0);
/// HashBytes(bytes) of a mapped file, whose pages are dropped as they were read (DropMappedPages):
/// no more than a few megabytes of a large constant are in memory.
uint64_t HashMapped(std::span<const std::byte> bytes);
uint64_t HashText(std::string_view text, uint64_t seed = 0);

}  // namespace fettle
