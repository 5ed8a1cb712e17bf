// How names of tokens spell bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "language/code_points.h"

namespace fettle::language {

/// The printable character that stands for each byte in names of tokens (GPT-2's encoder.py).
struct ByteNames {
  std::array<std::string, 256> names;
  std::unordered_map<uint32_t, uint8_t> bytes;

  ByteNames() {
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      const uint32_t code = printable ? byte : next++;
      AppendUtf8(code, names[byte]);
      bytes.emplace(code, static_cast<uint8_t>(byte));
    }
  }
  static const ByteNames& Get() {
    static const ByteNames table;
    return table;
  }
};

/// Each byte of `text` by its name.
inline std::string BytesSpelled(std::string_view text) {
  std::string spelled;
  for (char byte : text) spelled += ByteNames::Get().names[static_cast<uint8_t>(byte)];
  return spelled;
}

}  // namespace fettle::language
