// Kinds of characters that tokenizers distinguish, as Unicode defines them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "language/code_points.h"

namespace fettle::language {

/// By the general category: marks (M*), marks without a width (Mn), numbers (N*), punctuation
/// (P* and ASCII's symbols), what has no shape (C* but Cn).
bool IsMark(uint32_t code);
bool IsNarrowMark(uint32_t code);
bool IsNumber(uint32_t code);
bool IsPunctuation(uint32_t code);
bool IsShapeless(uint32_t code);
/// Whether a word goes on with it: letters, marks, digits and connecting punctuation.
bool IsWordPart(uint32_t code);
/// Of the blocks that BERT's tokenizer takes for Chinese.
bool IsChinese(uint32_t code);

/// `text`, which is UTF-8, in lower case, and in a form of Unicode's normalisation.
std::string Lowercase(std::string_view text);
enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
std::string Normalise(std::string_view text, NormalForm form);

/// Where the graphemes (extended clusters) of `text`, which is UTF-8, end.
std::vector<size_t> GraphemeEnds(std::string_view text);

/// Calls f(code, its bytes) for each character of `text`, which is UTF-8.
template <typename F>
void ForEachCharacter(std::string_view text, F f) {
  const std::vector<CodePoint> points = CodePointsOf(text);
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t begin = points[i].begin;
    const size_t end = i + 1 < points.size() ? points[i + 1].begin : text.size();
    f(points[i].value, text.substr(begin, end - begin));
  }
}

}  // namespace fettle::language
