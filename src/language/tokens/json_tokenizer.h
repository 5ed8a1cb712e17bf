// Tokenizers of tokenizer.json files, as Hugging Face's library `tokenizers` writes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "language/tokenizer.h"
#include "language/tokens/json_file.h"

namespace fettle::language {

/// Facts about tokens from other files of a model's folder.
struct TokenRoles {
  std::vector<int32_t> ends;  // an answer ends with them
  int32_t begin = -1;         // begins a text without other tokens; -1: that of the tokenizer
};

/// The tokenizer in `json`, the text of a tokenizer.json; `name` starts messages. Bytes of a text
/// that are no UTF-8 become tokens of bytes where the tokenizer has them. Fails with kUnsupported
/// naming a part that is not known, kInvalidModel where members are missing or do not fit.
Result<std::unique_ptr<const Tokenizer>> ReadTokenizer(const Json& json, const std::string& name,
                                                       const TokenRoles& roles = {});

}  // namespace fettle::language
