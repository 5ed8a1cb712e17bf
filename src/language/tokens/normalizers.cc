#include "language/tokens/normalizers.h"

#include <memory>
#include <string_view>
#include <utility>

#include "language/tokens/byte_names.h"
#include "language/tokens/characters.h"
#include "language/tokens/charsmap.h"
#include "language/tokens/pattern_of.h"

namespace fettle::language {
namespace {

using TextSteps = std::vector<TextStep>;

/// Keeps the characters of which keeps(code) holds.
template <typename Keeps>
void Filter(std::string& text, bool& whole, Keeps keeps) {
  std::string kept;
  ForEachCharacter(text, [&](uint32_t code, std::string_view bytes) {
    if (keeps(code)) {
      kept += bytes;
    } else {
      whole &= !kept.empty();
    }
  });
  text = std::move(kept);
}

Status AddBert(const Json& json, TextSteps& steps) {
  ASSIGN_OR_RETURN(const bool cleans, FlagOf(json, "clean_text", true));
  ASSIGN_OR_RETURN(const bool chinese, FlagOf(json, "handle_chinese_chars", true));
  ASSIGN_OR_RETURN(const bool lower, FlagOf(json, "lowercase", true));
  ASSIGN_OR_RETURN(const bool strips, FlagOf(json, "strip_accents", lower));
  steps.push_back([=](std::string& text, bool& whole) {
    std::string out;
    ForEachCharacter(text, [&](uint32_t code, std::string_view bytes) {
      const bool blank = code == '\t' || code == '\n' || code == '\r';
      if (cleans && !blank && (code == 0xfffd || IsShapeless(code))) {
        whole &= !out.empty();
        return;
      }
      if (cleans && (blank || IsSpace(code))) bytes = " ";
      const bool pads = chinese && IsChinese(code);
      if (pads) out += ' ';
      out += bytes;
      if (pads) out += ' ';
    });
    text = strips ? Normalise(out, NormalForm::kNfd) : std::move(out);
    if (strips) Filter(text, whole, [](uint32_t code) { return !IsNarrowMark(code); });
    if (lower) text = Lowercase(text);
  });
  return OkStatus();
}

Status AddStrip(const Json& json, TextSteps& steps) {
  ASSIGN_OR_RETURN(const bool left, FlagOf(json, "strip_left", true));
  ASSIGN_OR_RETURN(const bool right, FlagOf(json, "strip_right", true));
  steps.push_back([=](std::string& text, bool& whole) {
    const std::vector<CodePoint> points = CodePointsOf(text);
    size_t begin = 0, end = points.size();
    while (left && begin < end && IsSpace(points[begin].value)) ++begin;
    while (right && end > begin && IsSpace(points[end - 1].value)) --end;
    whole &= begin == 0;
    const size_t from = begin < points.size() ? points[begin].begin : text.size();
    const size_t to = end < points.size() ? points[end].begin : text.size();
    text = text.substr(from, to - from);
  });
  return OkStatus();
}

Status AddReplacement(const Json& json, TextSteps& steps) {
  ASSIGN_OR_RETURN(const auto pattern, PatternOf(json));
  ASSIGN_OR_RETURN(const std::string content, TextOf(json, "content", ""));
  steps.push_back([=](std::string& text, bool& whole) {
    std::string out;
    for (const MatchedRange& range : pattern->Split(text)) {
      if (range.matched) {
        const bool one =
            CodePointsOf(text.substr(range.begin, range.end - range.begin)).size() == 1;
        whole &= range.begin > 0 || (one && !content.empty());
        out += content;
      } else {
        out.append(text, range.begin, range.end - range.begin);
      }
    }
    text = std::move(out);
  });
  return OkStatus();
}

Status AddPrepend(const Json& json, TextSteps& steps) {
  ASSIGN_OR_RETURN(const std::string prefix, TextOf(json, "prepend", ""));
  steps.push_back([=](std::string& text, bool&) {
    if (!text.empty()) text.insert(0, prefix);
  });
  return OkStatus();
}

template <NormalForm kForm>
Status AddNormalForm(const Json&, TextSteps& steps) {
  steps.push_back([](std::string& text, bool&) { text = Normalise(text, kForm); });
  return OkStatus();
}

Status AddLowercase(const Json&, TextSteps& steps) {
  steps.push_back([](std::string& text, bool&) { text = Lowercase(text); });
  return OkStatus();
}

Status AddStripAccents(const Json&, TextSteps& steps) {
  steps.push_back([](std::string& text, bool& whole) {
    Filter(text, whole, [](uint32_t code) { return !IsMark(code); });
  });
  return OkStatus();
}

Status AddBytes(const Json&, TextSteps& steps) {
  steps.push_back([](std::string& text, bool&) { text = BytesSpelled(text); });
  return OkStatus();
}

/// Of SentencePiece's "nmt" rules: without control characters, other white space as spaces.
Status AddNmt(const Json&, TextSteps& steps) {
  steps.push_back([](std::string& text, bool& whole) {
    Filter(text, whole, [](uint32_t code) {
      const bool is_control = (code >= 0x01 && code <= 0x08) || (code >= 0x0e && code <= 0x1f);
      return !is_control && code != 0x0b && code != 0x7f && code != 0x8f && code != 0x9f;
    });
    std::string out;
    ForEachCharacter(text, [&](uint32_t code, std::string_view bytes) {
      const bool is_blank = code == '\t' || code == '\n' || code == '\f' || code == '\r' ||
                            code == 0x1680 || (code >= 0x200b && code <= 0x200f) ||
                            code == 0x2028 || code == 0x2029 || code == 0x2581 || code == 0xfeff ||
                            code == 0xfffd;
      out += is_blank ? " " : bytes;
    });
    text = std::move(out);
  });
  return OkStatus();
}

Status AddCharsMap(const Json& json, TextSteps& steps) {
  ASSIGN_OR_RETURN(const std::string text, TextOf(json, "precompiled_charsmap", ""));
  ASSIGN_OR_RETURN(CharsMap map, CharsMap::Read(text));
  steps.push_back([map = std::make_shared<const CharsMap>(std::move(map))](
                      std::string& changed, bool&) { changed = map->Replaced(changed); });
  return OkStatus();
}

constexpr std::pair<std::string_view, Status (*)(const Json&, TextSteps&)> kNormalizers[] = {
    {"BertNormalizer", AddBert},
    {"ByteLevel", AddBytes},
    {"Lowercase", AddLowercase},
    {"NFC", AddNormalForm<NormalForm::kNfc>},
    {"NFD", AddNormalForm<NormalForm::kNfd>},
    {"NFKC", AddNormalForm<NormalForm::kNfkc>},
    {"NFKD", AddNormalForm<NormalForm::kNfkd>},
    {"Nmt", AddNmt},
    {"Precompiled", AddCharsMap},
    {"Prepend", AddPrepend},
    {"Replace", AddReplacement},
    {"Strip", AddStrip},
    {"StripAccents", AddStripAccents},
};

}  // namespace

Result<std::vector<TextStep>> ReadNormalizer(const Json* json) {
  TextSteps steps;
  if (json != nullptr)
    RETURN_IF_ERROR(AddPart({"normalizer", "normalizers"}, kNormalizers, *json, steps));
  return steps;
}

}  // namespace fettle::language
