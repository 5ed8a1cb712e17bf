// Converts the names of tokens to the bytes that they add to a text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "language/tokens/json_file.h"

namespace fettle::language {

/// Changes the name of a token, towards the bytes that it adds behind others.
using NameStep = std::function<void(std::string& name)>;

/// The steps of the member 'decoder' of a tokenizer.json (null: a space before each name), in
/// order. Special treatment of a text's first token is left out, because an answer continues a
/// text. kUnsupported naming a type that is not known, with those that are; kInvalidModel.
Result<std::vector<NameStep>> ReadDecoderSteps(const Json* json);

}  // namespace fettle::language
