// Normalizers: changes of a text before a tokenizer cuts it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "language/tokens/json_file.h"

namespace fettle::language {

/// Changes a text, which is UTF-8. `whole` becomes false where it takes the first character away.
using TextStep = std::function<void(std::string& text, bool& whole)>;

/// The steps of the member 'normalizer' of a tokenizer.json (null: none), in order. kUnsupported
/// naming a type that is not known, with those that are; kInvalidModel.
Result<std::vector<TextStep>> ReadNormalizer(const Json* json);

}  // namespace fettle::language
