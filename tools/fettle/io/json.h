// JSON documents as the program reads and writes them: members keep their order.
#pragma once

#include <nlohmann/json.hpp>

namespace fettle::tools {

using Json = nlohmann::ordered_json;

/// Null where there is no such member.
inline const Json* Member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

}  // namespace fettle::tools
