// What parts of a tokenizer.json have in common.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "language/tokens/json_file.h"
#include "language/tokens/word_pattern.h"

namespace fettle::language {

/// Sequences in sequences, which need no more.
inline constexpr int kMostNested = 16;

/// The member 'pattern': {"String": text} or {"Regex": expression}.
Result<std::shared_ptr<const WordPattern>> PatternOf(const Json& json);

/// kUnsupported: `table` has pairs that begin with the names that are known.
template <typename Table>
Status UnknownPart(std::string_view kind, const std::string& type, const Table& table) {
  std::string known = "Sequence";
  for (const auto& row : table) known.append(", ").append(row.first);
  return Unsupported("{} '{}' is not supported; supported: {}", kind, type, known);
}

}  // namespace fettle::language
