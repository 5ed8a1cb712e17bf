// Reads JSON documents of models; failures name the wrong member.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::language {

using Json = nlohmann::json;

/// The object in a file. kNotFound, kIo, kInvalidModel where it is no JSON, or no object.
Result<Json> ReadJsonFile(const std::string& path);
/// The same of a text; `name` starts messages.
Result<Json> ParseJson(std::string_view text, const std::string& name);

/// The same failure with control characters of names in its message spelled out: one line.
Status InOneLine(const Status& status);

/// Null where `json` is no object, or has no such member, or null there.
const Json* Find(const Json& json, std::string_view key);
/// A member, or `fallback` where there is none. kInvalidModel naming the key where it is of another
/// type.
Result<std::string> TextOf(const Json& json, std::string_view key, std::string_view fallback);
Result<bool> FlagOf(const Json& json, std::string_view key, bool fallback);
Result<int64_t> IntOf(const Json& json, std::string_view key, int64_t fallback);
Result<double> NumberOf(const Json& json, std::string_view key, double fallback);
/// A member that must be there. kInvalidModel.
Result<const Json*> Need(const Json& json, std::string_view key);
/// The member 'type'; "" where there is none.
std::string TypeOf(const Json& json);

}  // namespace fettle::language
