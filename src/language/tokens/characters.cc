#include "language/tokens/characters.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace fettle::language {
namespace {

utf8proc_category_t CategoryOf(uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

bool IsMark(uint32_t code) {
  const utf8proc_category_t kind = CategoryOf(code);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool IsNarrowMark(uint32_t code) { return CategoryOf(code) == UTF8PROC_CATEGORY_MN; }

bool IsNumber(uint32_t code) {
  const utf8proc_category_t kind = CategoryOf(code);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool IsPunctuation(uint32_t code) {
  const bool ascii = (code >= 33 && code <= 47) || (code >= 58 && code <= 64) ||
                     (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
  const utf8proc_category_t kind = CategoryOf(code);
  return ascii || (kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO);
}

bool IsShapeless(uint32_t code) {
  const utf8proc_category_t kind = CategoryOf(code);
  return kind >= UTF8PROC_CATEGORY_CC && kind <= UTF8PROC_CATEGORY_CO;
}

bool IsWordPart(uint32_t code) {
  const utf8proc_category_t kind = CategoryOf(code);
  // Letters in circles and squares, and what joins characters, are of other categories.
  const bool framed = (code >= 0x24b6 && code <= 0x24e9) || (code >= 0x1f130 && code <= 0x1f149) ||
                      (code >= 0x1f150 && code <= 0x1f169) || (code >= 0x1f170 && code <= 0x1f189);
  const bool joins = code == 0x200c || code == 0x200d;
  return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) ||
         kind == UTF8PROC_CATEGORY_PC || framed || joins;
}

bool IsChinese(uint32_t code) {
  constexpr uint32_t kBlocks[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                     {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                     {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  for (const auto& [first, last] : kBlocks)
    if (code >= first && code <= last) return true;
  return false;
}

std::string Lowercase(std::string_view text) {
  std::string out;
  ForEachCharacter(text, [&](uint32_t code, std::string_view) {
    if (code == 0x130) {  // the only letter with a lower case of two characters
      out += "i\xcc\x87";
    } else {
      AppendUtf8(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)), out);
    }
  });
  return out;
}

std::string Normalise(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kNfc || form == NormalForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &made,
                                             static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(made), static_cast<size_t>(size)};
}

std::vector<size_t> GraphemeEnds(std::string_view text) {
  std::vector<size_t> ends;
  utf8proc_int32_t before = 0, state = 0;
  size_t at = 0;
  ForEachCharacter(text, [&](uint32_t code, std::string_view bytes) {
    const auto now = static_cast<utf8proc_int32_t>(code);
    if (at > 0 && utf8proc_grapheme_break_stateful(before, now, &state)) ends.push_back(at);
    before = now;
    at += bytes.size();
  });
  if (at > 0) ends.push_back(at);
  return ends;
}

}  // namespace fettle::language
