// SentencePiece's tables of replacements ("precompiled charsmaps").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::language {

/// A trie in a double array (Yata's darts-clone), and the texts that its leaves point to.
/// Immutable, thread-safe.
class CharsMap {
 public:
  /// Of base64. kInvalidModel; whatever the array holds is safe.
  static Result<CharsMap> Read(std::string_view base64);

  /// `text`, which is UTF-8, with what the map says in the place of its graphemes of up to five
  /// bytes, or of their characters, as the package `tokenizers` reads such maps.
  std::string Replaced(std::string_view text) const;

 private:
  /// The replacement of the shortest beginning of `part` that the map knows.
  std::optional<std::string_view> Find(std::string_view part) const;

  std::vector<uint32_t> units_;
  std::string texts_;  // each ends with a zero
};

}  // namespace fettle::language
