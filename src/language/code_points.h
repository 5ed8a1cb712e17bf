// Text as code points, and the classes that tokenizers distinguish.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fettle::language {

enum class CodeClass : uint8_t { kLetter, kNumber, kSpace, kOther };

/// One code point of a text, or one byte that is no UTF-8 (value 0xfffd).
struct CodePoint {
  uint32_t value = 0;
  CodeClass kind = CodeClass::kOther;
  int32_t begin = 0;  // byte in the text
};

/// White space, as Unicode has it.
bool IsSpace(uint32_t code);
CodeClass ClassOf(uint32_t code);
/// Any bytes are safe. The text has fewer than 2^31 bytes.
std::vector<CodePoint> CodePointsOf(std::string_view text);
void AppendUtf8(uint32_t code, std::string& to);
/// How many bytes at the end of `text` begin a code point whose rest is missing.
size_t UnfinishedBytes(std::string_view text);

}  // namespace fettle::language
