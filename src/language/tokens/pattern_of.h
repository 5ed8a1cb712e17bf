// Code that parts of a tokenizer.json share.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "language/tokens/json_file.h"
#include "language/tokens/word_pattern.h"

namespace fettle::language {

/// The member 'pattern': {"String": text} or {"Regex": expression}.
Result<std::shared_ptr<const WordPattern>> PatternOf(const Json& json);

/// What one kind of parts is called: "decoder", and 'decoders' the list of a Sequence of them.
struct PartKind {
  std::string_view name, list;
};

/// Adds what a part does to `steps` by the row of `table`, {type, add}, that has its type, and what
/// the parts of a Sequence do. kUnsupported naming the known types, kInvalidModel.
template <typename Table, typename Steps>
Status AddPart(const PartKind& kind, const Table& table, const Json& json, Steps& steps,
               int depth = 0) {
  constexpr int kMostNested = 16;  // none needs more
  if (depth > kMostNested) return InvalidModel("{}: sequences in sequences", kind.name);
  const std::string type = TypeOf(json);
  if (type == "Sequence") {
    ASSIGN_OR_RETURN(const Json* parts, Need(json, kind.list));
    if (!parts->is_array()) return InvalidModel("'{}': expected a list", kind.list);
    for (const Json& part : *parts) RETURN_IF_ERROR(AddPart(kind, table, part, steps, depth + 1));
    return OkStatus();
  }
  std::string known = "Sequence";
  for (const auto& [name, add] : table) {
    if (name == type) return add(json, steps).WithContext(fmt::format("{} {}", kind.name, type));
    known.append(", ").append(name);
  }
  return Unsupported("{} '{}' is not supported; supported: {}", kind.name, type, known);
}

}  // namespace fettle::language
