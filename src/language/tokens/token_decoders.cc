#include "language/tokens/token_decoders.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "language/tokens/byte_names.h"
#include "language/tokens/characters.h"
#include "language/tokens/pattern_of.h"

namespace fettle::language {
namespace {

struct NameSteps {
  std::vector<NameStep> all;
  bool fused = false;  // tokens are joined: what follows sees their whole text
};

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

/// A name in which a character spells no byte is text.
Status AddByteLevel(const Json&, NameSteps& steps) {
  steps.all.push_back([](std::string& name) {
    const ByteNames& table = ByteNames::Get();
    std::string bytes;
    const std::vector<CodePoint> points = CodePointsOf(name);
    for (const CodePoint& point : points) {
      const auto found = table.bytes.find(point.value);
      if (found == table.bytes.end()) return;
      bytes += static_cast<char>(found->second);
    }
    name = std::move(bytes);
  });
  return OkStatus();
}

Status AddByteFallback(const Json&, NameSteps& steps) {
  steps.all.push_back([](std::string& name) {
    unsigned byte = 0;
    const bool is_byte = name.size() == 6 && name.starts_with("<0x") && name.ends_with(">") &&
                         std::sscanf(name.c_str(), "<0x%2X>", &byte) == 1;
    if (is_byte) name.assign(1, static_cast<char>(byte));
  });
  return OkStatus();
}

Status AddReplace(const Json& json, NameSteps& steps) {
  ASSIGN_OR_RETURN(const auto pattern, PatternOf(json));
  ASSIGN_OR_RETURN(const std::string content, TextOf(json, "content", ""));
  steps.all.push_back([=](std::string& name) {
    std::string out;
    for (const MatchedRange& range : pattern->Split(name))
      out += range.matched ? content : name.substr(range.begin, range.end - range.begin);
    name = std::move(out);
  });
  return OkStatus();
}

Status AddMetaspace(const Json& json, NameSteps& steps) {
  ASSIGN_OR_RETURN(const std::string mark, TextOf(json, "replacement", "\xe2\x96\x81"));
  steps.all.push_back([=](std::string& name) { ReplaceAll(name, mark, " "); });
  return OkStatus();
}

/// A space before each word, but for punctuation and contractions.
Status AddWordPiece(const Json& json, NameSteps& steps) {
  ASSIGN_OR_RETURN(const std::string prefix, TextOf(json, "prefix", "##"));
  ASSIGN_OR_RETURN(const bool cleans, FlagOf(json, "cleanup", true));
  steps.all.push_back([=](std::string& name) {
    if (!prefix.empty() && name.starts_with(prefix)) {
      name.erase(0, prefix.size());
    } else {
      name.insert(0, " ");
    }
    constexpr std::pair<std::string_view, std::string_view> kCleaner[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kCleaner)
      if (cleans) ReplaceAll(name, from, to);
  });
  return OkStatus();
}

Status AddSuffix(const Json& json, NameSteps& steps) {
  ASSIGN_OR_RETURN(const std::string suffix, TextOf(json, "suffix", "</w>"));
  steps.all.push_back([=](std::string& name) { ReplaceAll(name, suffix, " "); });
  return OkStatus();
}

/// Behind a Fuse it changes the ends of whole texts alone, else those of each token.
Status AddStripEnds(const Json& json, NameSteps& steps) {
  if (steps.fused) return OkStatus();
  ASSIGN_OR_RETURN(const std::string content, TextOf(json, "content", " "));
  ASSIGN_OR_RETURN(const int64_t start, IntOf(json, "start", 0));
  ASSIGN_OR_RETURN(const int64_t stop, IntOf(json, "stop", 0));
  if (content.empty()) return InvalidModel("'content' is missing");
  steps.all.push_back([=](std::string& name) {
    for (int64_t i = 0; i < start && name.starts_with(content); ++i) name.erase(0, content.size());
    for (int64_t i = 0; i < stop && name.ends_with(content); ++i)
      name.resize(name.size() - content.size());
  });
  return OkStatus();
}

Status AddFuse(const Json&, NameSteps& steps) {
  steps.fused = true;
  return OkStatus();
}

constexpr std::pair<std::string_view, Status (*)(const Json&, NameSteps&)> kDecoders[] = {
    {"BPEDecoder", AddSuffix}, {"ByteFallback", AddByteFallback}, {"ByteLevel", AddByteLevel},
    {"Fuse", AddFuse},         {"Metaspace", AddMetaspace},       {"Replace", AddReplace},
    {"Strip", AddStripEnds},   {"WordPiece", AddWordPiece},
};

}  // namespace

Result<std::vector<NameStep>> ReadDecoderSteps(const Json* json) {
  NameSteps steps;
  if (json == nullptr) {
    steps.all.push_back([](std::string& name) { name.insert(0, " "); });
  } else {
    RETURN_IF_ERROR(AddPart({"decoder", "decoders"}, kDecoders, *json, steps));
  }
  return std::move(steps.all);
}

}  // namespace fettle::language
