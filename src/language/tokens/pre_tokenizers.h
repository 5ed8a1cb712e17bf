// How tokenizers cut a text into words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "language/tokens/json_file.h"

namespace fettle::language {

/// A part of a text. `first`: it begins the text.
struct Word {
  std::string text;
  bool first = false;
};
/// Cuts and changes words, which are UTF-8 and not empty.
using WordStep = std::function<void(std::vector<Word>& words)>;

/// The steps of the member 'pre_tokenizer' of a tokenizer.json (null: none), in order. kUnsupported
/// naming a type that is not known, with those that are; kInvalidModel.
Result<std::vector<WordStep>> ReadPreTokenizer(const Json* json);

}  // namespace fettle::language
