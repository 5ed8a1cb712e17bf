// From the names of tokens to what they add to a text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "language/tokens/json_file.h"

namespace fettle::language {

/// Changes the name of a token, towards the bytes that it adds behind others.
using NameStep = std::function<void(std::string& name)>;

/// The steps of the member 'decoder' of a tokenizer.json (null: a space before each name), in
/// order. What a decoder does to the first token of a text alone is left out, for an answer goes
/// on. kUnsupported naming a type that is not known, with those that are; kInvalidModel.
Result<std::vector<NameStep>> ReadDecoderSteps(const Json* json);

}  // namespace fettle::language
