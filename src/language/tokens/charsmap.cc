#include "language/tokens/charsmap.h"

#include <algorithm>
#include <cstring>

#include "language/tokens/characters.h"

namespace fettle::language {
namespace {

constexpr size_t kMostBytes = 5;  // of graphemes that are looked up as a whole

/// Six bits of a character of base64; -1: it is none.
int SixBitsOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Result<std::string> BytesOfBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const int six = SixBitsOf(c);
    if (six < 0) return InvalidModel("'precompiled_charsmap' is not base64");
    bits = bits << 6 | static_cast<uint32_t>(six);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

/// Units of the array: a node's label, where its children lie, whether it has a text, and which.
uint32_t LabelOf(uint32_t unit) { return unit & (1U << 31 | 0xffU); }
uint32_t OffsetOf(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
bool HasText(uint32_t unit) { return (unit >> 8 & 1) == 1; }
uint32_t TextOf(uint32_t unit) { return unit & ~(1U << 31); }

}  // namespace

Result<CharsMap> CharsMap::Read(std::string_view base64) {
  ASSIGN_OR_RETURN(const std::string bytes, BytesOfBase64(base64));
  uint32_t size = 0;
  if (bytes.size() >= sizeof(size)) std::memcpy(&size, bytes.data(), sizeof(size));
  if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof(size))
    return InvalidModel("'precompiled_charsmap': {} of {} bytes are its trie", size, bytes.size());
  CharsMap map;
  map.units_.resize(size / 4);
  std::memcpy(map.units_.data(), bytes.data() + sizeof(size), size);
  map.texts_ = bytes.substr(sizeof(size) + size);
  bool is_utf8 = true;
  ForEachCharacter(map.texts_, [&](uint32_t code, std::string_view one) {
    is_utf8 &= code != 0xfffd || one.size() > 1;
  });
  if (!is_utf8) return InvalidModel("'precompiled_charsmap': a text is not UTF-8");
  return map;
}

std::optional<std::string_view> CharsMap::Find(std::string_view part) const {
  uint32_t at = OffsetOf(units_[0]);
  for (char c : part) {
    const auto byte = static_cast<uint8_t>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size() || LabelOf(units_[at]) != byte) return std::nullopt;
    const uint32_t unit = units_[at];
    at ^= OffsetOf(unit);
    if (!HasText(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const size_t begin = TextOf(units_[at]);
    // A place between the bytes of a character begins no text.
    const bool begins =
        begin < texts_.size() && (static_cast<uint8_t>(texts_[begin]) & 0xc0) != 0x80;
    if (!begins) return std::nullopt;
    const size_t end = std::min(texts_.find('\0', begin), texts_.size());
    return std::string_view(texts_).substr(begin, end - begin);
  }
  return std::nullopt;
}

std::string CharsMap::Replaced(std::string_view text) const {
  std::string out;
  const auto put = [&](std::string_view grapheme) {
    if (grapheme.size() <= kMostBytes) {
      if (const auto whole = Find(grapheme)) {
        out += *whole;
        return;
      }
    }
    ForEachCharacter(grapheme,
                     [&](uint32_t, std::string_view bytes) { out += Find(bytes).value_or(bytes); });
  };
  size_t begin = 0;
  for (const size_t end : GraphemeEnds(text)) {
    put(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

}  // namespace fettle::language
