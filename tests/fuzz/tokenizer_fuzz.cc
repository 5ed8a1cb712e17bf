// libFuzzer target: any bytes as a tokenizer.json and, behind the first zero, a text. What is read
// must encode the text, and decode each of its tokens.
//   build/dev/bin/tokenizer_fuzz -max_len=16384 tests/fuzz/corpus/tokenizer
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "language/tokens/json_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t zero = all.find('\0');
  const std::string_view text = zero == std::string_view::npos ? "a b" : all.substr(zero + 1);
  const auto json = fettle::language::ParseJson(all.substr(0, zero), "tokenizer.json");
  if (!json.ok()) return 0;
  const auto tokenizer = fettle::language::ReadTokenizer(*json, "tokenizer.json");
  if (!tokenizer.ok()) {
    if (tokenizer.status().message().find('\n') != std::string_view::npos) std::abort();
    return 0;
  }
  for (const bool special : {false, true}) {
    for (const int32_t token : (*tokenizer)->Encode(text, special)) {
      if (token < 0 || token >= (*tokenizer)->size()) std::abort();
      (void)(*tokenizer)->Decode(token);
    }
  }
  return 0;
}
