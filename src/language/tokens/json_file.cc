#include "language/tokens/json_file.h"

#include <fmt/format.h>

#include "base/file.h"

namespace fettle::language {

Result<Json> ParseJson(std::string_view text, const std::string& name) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return InvalidModel("{}: not valid JSON", name);
  if (!json.is_object()) return InvalidModel("{}: expected a JSON object", name);
  return json;
}

Result<Json> ReadJsonFile(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  return ParseJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Status InOneLine(const Status& status) {
  if (status.ok()) return status;
  std::string line;
  for (char c : status.message()) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<uint8_t>(c)));
    } else {
      line += c;
    }
  }
  return {status.code(), line};
}

const Json* Find(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(std::string(key));
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> TextOf(const Json& json, std::string_view key, std::string_view fallback) {
  const Json* found = Find(json, key);
  if (found == nullptr) return std::string(fallback);
  if (!found->is_string()) return InvalidModel("'{}': expected a text", key);
  return found->get<std::string>();
}

Result<bool> FlagOf(const Json& json, std::string_view key, bool fallback) {
  const Json* found = Find(json, key);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) return InvalidModel("'{}': expected true or false", key);
  return found->get<bool>();
}

Result<int64_t> IntOf(const Json& json, std::string_view key, int64_t fallback) {
  const Json* found = Find(json, key);
  if (found == nullptr) return fallback;
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() || found->get<uint64_t>() <= uint64_t{1} << 62);
  if (!fits) return InvalidModel("'{}': expected a whole number", key);
  return found->get<int64_t>();
}

Result<double> NumberOf(const Json& json, std::string_view key, double fallback) {
  const Json* found = Find(json, key);
  if (found == nullptr) return fallback;
  if (!found->is_number()) return InvalidModel("'{}': expected a number", key);
  return found->get<double>();
}

Result<const Json*> Need(const Json& json, std::string_view key) {
  const Json* found = Find(json, key);
  if (found == nullptr) return InvalidModel("'{}' is missing", key);
  return found;
}

std::string TypeOf(const Json& json) {
  const Json* found = Find(json, "type");
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace fettle::language
