#include "language/tokens/json_tokenizer.h"

#include <algorithm>
#include <set>

#include "language/code_points.h"
#include "language/tokens/added_tokens.h"
#include "language/tokens/byte_names.h"
#include "language/tokens/normalizers.h"
#include "language/tokens/pre_tokenizers.h"
#include "language/tokens/token_decoders.h"
#include "language/tokens/word_models.h"

namespace fettle::language {
namespace {

/// Ends of answers in files that do not say.
constexpr std::string_view kEndNames[] = {"<|im_end|>",    "<|eot_id|>",    "<|end_of_text|>",
                                          "<|endoftext|>", "<end_of_turn>", "<|end|>",
                                          "[|endofturn|]", "</s>",          "<eos>"};

class JsonTokenizer final : public Tokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view text, bool special) const override {
    std::vector<int32_t> to;
    for (const TextPart& part : raw_.Split(text, special)) {
      if (part.token >= 0) {
        to.push_back(part.token);
      } else {
        EncodePart(text.substr(part.begin, part.end - part.begin), part.begin == 0, special, to);
      }
    }
    return to;
  }

  std::string Decode(int32_t token) const override {
    if (token < 0 || token >= size() || hidden_[token]) return {};
    std::string name = tokens_[token];
    for (const NameStep& step : decoder_) step(name);
    return name;
  }

  Status Read(const Json& json, const TokenRoles& roles) {
    ASSIGN_OR_RETURN(const Json* model, Need(json, "model"));
    ASSIGN_OR_RETURN(model_, ReadWordModel(*model));
    ASSIGN_OR_RETURN(normalizer_, ReadNormalizer(Find(json, "normalizer")));
    ASSIGN_OR_RETURN(pre_tokenizer_, ReadPreTokenizer(Find(json, "pre_tokenizer")));
    ASSIGN_OR_RETURN(decoder_, ReadDecoderSteps(Find(json, "decoder")));
    ASSIGN_OR_RETURN(const auto added, ReadAddedTokens(Find(json, "added_tokens")));
    NameTokens(added);
    TakeAdded(added);
    bytes_ = ByteTokens(model_->vocabulary());
    // Every byte-level vocabulary has the name of the space.
    spells_bytes_ = model_->vocabulary().contains(BytesSpelled(" "));
    RETURN_IF_ERROR(ReadProcessor(Find(json, "post_processor"), 0));
    return TakeRoles(roles);
  }

 private:
  /// Every token of a special one's name has no text; names of those that are looked for in the
  /// text as the normalizer leaves it are changed by that, too.
  void NameTokens(const std::vector<AddedToken>& added) {
    int32_t most = -1;
    for (const auto& [name, id] : model_->vocabulary()) most = std::max(most, id);
    for (const AddedToken& token : added) most = std::max(most, token.id);
    tokens_.resize(most + 1);
    hidden_.assign(most + 1, true);  // numbers that are no token
    for (const auto& [name, id] : model_->vocabulary()) {
      tokens_[id] = name;
      hidden_[id] = false;
    }
    for (const auto& [id, name] : model_->repeated()) {
      tokens_[id] = name;
      hidden_[id] = false;
    }
    std::set<std::string_view> specials;
    for (const AddedToken& token : added) {
      tokens_[token.id] = Normalised(token);
      hidden_[token.id] = false;
      if (token.special) specials.insert(token.content);
    }
    for (int32_t id = 0; id <= most; ++id)
      if (specials.contains(tokens_[id])) hidden_[id] = true;
  }

  std::string Normalised(const AddedToken& token) const {
    std::string content = token.content;
    bool whole = true;
    for (const TextStep& step : normalizer_)
      if (token.normalised) step(content, whole);
    return content;
  }

  void TakeAdded(const std::vector<AddedToken>& added) {
    std::vector<AddedToken> raw, normalised;
    for (AddedToken token : added) {
      token.content = Normalised(token);
      (token.normalised ? normalised : raw).push_back(std::move(token));
    }
    raw_ = TokenFinder(std::move(raw));
    normalised_ = TokenFinder(std::move(normalised));
  }

  /// A number that a processor names a token by.
  Status TakeFirst(int64_t id) {
    if (id < 0 || id >= size()) return InvalidModel("post_processor: token {} is unknown", id);
    if (adds_begin_ && begin_ != id)
      return Unsupported("post_processor: more than one token before a text is not supported");
    begin_ = static_cast<int32_t>(id);
    adds_begin_ = true;
    return OkStatus();
  }

  /// [[SpecialToken], Sequence, ...]: what stands before the text. What stands behind it would end
  /// a prompt, and is left out.
  Status ReadTemplate(const Json& json) {
    ASSIGN_OR_RETURN(const Json* single, Need(json, "single"));
    if (!single->is_array()) return InvalidModel("post_processor: 'single': expected a list");
    for (const Json& piece : *single) {
      const Json* token = Find(piece, "SpecialToken");
      if (token == nullptr) break;
      ASSIGN_OR_RETURN(const std::string name, TextOf(*token, "id", ""));
      const Json* all = Find(json, "special_tokens");
      const Json* row = all == nullptr ? nullptr : Find(*all, name);
      const Json* ids = row == nullptr ? nullptr : Find(*row, "ids");
      if (ids == nullptr || !ids->is_array())
        return InvalidModel("post_processor: token '{}' has no 'ids'", name);
      for (const Json& id : *ids)
        RETURN_IF_ERROR(TakeFirst(id.is_number_integer() ? id.get<int64_t>() : -1));
    }
    return OkStatus();
  }

  Status ReadProcessor(const Json* json, int depth) {
    if (json == nullptr) return OkStatus();
    const std::string type = TypeOf(*json);
    if (type == "ByteLevel") return OkStatus();  // places of tokens in the text
    if (type == "TemplateProcessing") return ReadTemplate(*json);
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      const Json* first = Find(*json, "cls");
      const bool names = first != nullptr && first->is_array() && first->size() == 2 &&
                         (*first)[1].is_number_integer();
      if (!names) return InvalidModel("post_processor: 'cls': expected a token and its number");
      return TakeFirst((*first)[1].get<int64_t>());
    }
    constexpr int kMostProcessors = 16;
    if (type != "Sequence" || depth > kMostProcessors)
      return Unsupported(
          "post_processor '{}' is not supported; supported: BertProcessing, ByteLevel, "
          "RobertaProcessing, Sequence, TemplateProcessing",
          type);
    const Json* parts = Find(*json, "processors");
    if (parts == nullptr || !parts->is_array())
      return InvalidModel("post_processor: 'processors': expected a list");
    for (const Json& part : *parts) RETURN_IF_ERROR(ReadProcessor(&part, depth + 1));
    return OkStatus();
  }

  Status TakeRoles(const TokenRoles& roles) {
    for (int32_t end : roles.ends)
      if (end >= 0 && end < size()) ends_.push_back(end);
    for (std::string_view name : kEndNames) {
      const int32_t end = Tokenizer::Find(name);
      if (end >= 0 && hidden_[end]) ends_.push_back(end);
    }
    if (begin_ < 0 && roles.begin < size()) begin_ = roles.begin;
    return OkStatus();
  }

  static const Json* Find(const Json& json, std::string_view key) {
    return language::Find(json, key);
  }

  /// What lies between tokens that are looked for in the text as it is: UTF-8, and other bytes.
  void EncodePart(std::string_view text, bool first, bool special, std::vector<int32_t>& to) const {
    const std::vector<CodePoint> points = CodePointsOf(text);
    const auto is_byte = [&](size_t i) {
      const size_t end = i + 1 < points.size() ? points[i + 1].begin : text.size();
      return points[i].value == 0xfffd && end - points[i].begin == 1;
    };
    for (size_t i = 0; i < points.size();) {
      const bool bytes = is_byte(i);
      const size_t begin = points[i].begin;
      first &= begin == 0;
      while (i < points.size() && is_byte(i) == bytes) ++i;
      const size_t end = i < points.size() ? points[i].begin : text.size();
      if (bytes) {
        EncodeBytes(text.substr(begin, end - begin), to);
      } else {
        EncodeText(text.substr(begin, end - begin), first, special, to);
      }
    }
  }

  void EncodeText(std::string_view text, bool first, bool special, std::vector<int32_t>& to) const {
    std::string normal(text);
    for (const TextStep& step : normalizer_) step(normal, first);
    for (const TextPart& part : normalised_.Split(normal, special)) {
      if (part.token >= 0) {
        to.push_back(part.token);
        continue;
      }
      std::vector<Word> words = {
          {normal.substr(part.begin, part.end - part.begin), first && part.begin == 0}};
      for (const WordStep& step : pre_tokenizer_) step(words);
      for (const Word& word : words)
        if (!word.text.empty()) model_->Encode(word.text, to);
    }
  }

  /// Each of them alone: as <0xNN>, or spelled as byte-level tokenizers do.
  void EncodeBytes(std::string_view bytes, std::vector<int32_t>& to) const {
    for (char byte : bytes) {
      if (bytes_.Encode({&byte, 1}, to)) continue;
      const auto found = model_->vocabulary().find(BytesSpelled({&byte, 1}));
      if (spells_bytes_ && found != model_->vocabulary().end()) to.push_back(found->second);
    }
  }

  std::unique_ptr<const WordModel> model_;
  std::vector<TextStep> normalizer_;
  std::vector<WordStep> pre_tokenizer_;
  std::vector<NameStep> decoder_;
  TokenFinder raw_, normalised_;
  std::vector<bool> hidden_;
  ByteTokens bytes_;
  bool spells_bytes_ = false;
};

}  // namespace

Result<std::unique_ptr<const Tokenizer>> ReadTokenizer(const Json& json, const std::string& name,
                                                       const TokenRoles& roles) {
  auto made = std::make_unique<JsonTokenizer>();
  const Status status = made->Read(json, roles);
  if (!status.ok()) return InOneLine(status).WithContext(name);
  return std::unique_ptr<const Tokenizer>(std::move(made));
}

}  // namespace fettle::language
