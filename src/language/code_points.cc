#include "language/code_points.h"

#include <algorithm>
#include <iterator>

namespace fettle::language {
namespace {

struct CodeRange {
  uint32_t first, last;
};
#include "language/code_ranges.inc"

template <size_t kSize>
bool IsIn(const CodeRange (&ranges)[kSize], uint32_t code) {
  const auto* found =
      std::lower_bound(ranges, ranges + kSize, code,
                       [](const CodeRange& range, uint32_t value) { return range.last < value; });
  return found != ranges + kSize && found->first <= code;
}

/// How many bytes the first one says that there are; 0: none begins with it.
int LengthOf(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

/// The code point that begins at `at`, and its length; 0 bytes: there is none.
int Decode(std::string_view text, size_t at, uint32_t& code) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const int length = LengthOf(byte(0));
  if (length == 0 || std::ssize(text.substr(at)) < length) return 0;
  code = length == 1 ? byte(0) : byte(0) & (0xffU >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return too_long || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

}  // namespace

bool IsSpace(uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

CodeClass ClassOf(uint32_t code) {
  if (IsSpace(code)) return CodeClass::kSpace;
  if (IsIn(kLetters, code)) return CodeClass::kLetter;
  return IsIn(kNumbers, code) ? CodeClass::kNumber : CodeClass::kOther;
}

std::vector<CodePoint> CodePointsOf(std::string_view text) {
  std::vector<CodePoint> points;
  for (size_t at = 0; at < text.size();) {
    uint32_t code = 0xfffd;
    const int length = Decode(text, at, code);
    if (length == 0) code = 0xfffd;
    points.push_back({code, ClassOf(code), static_cast<int32_t>(at)});
    at += std::max(length, 1);
  }
  return points;
}

void AppendUtf8(uint32_t code, std::string& to) {
  const auto put = [&](uint32_t byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    return LengthOf(byte) > static_cast<int>(back) ? back : 0;
  }
  return 0;
}

}  // namespace fettle::language
