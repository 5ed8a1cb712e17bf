#include "language/tokenizer.h"

#include <algorithm>
#include <array>

#include "language/code_points.h"
#include "language/merge_symbols.h"
#include "language/name_index.h"
#include "language/split_words.h"
#include "language/tokens/byte_names.h"

namespace fettle::language {
namespace {

using Joined = Merge<std::string_view>;

enum Kind : uint8_t { kControl = 3, kUser = 4 };

class PieceTokenizer : public Tokenizer {
 public:
  std::vector<int32_t> Encode(std::string_view text, bool special) const override;
  std::string Decode(int32_t token) const override;

 protected:
  /// Of a piece without special tokens; `first`: it begins the text.
  virtual void EncodePiece(std::string_view text, bool first, std::vector<int32_t>& to) const = 0;
  virtual std::string DecodeName(std::string_view name) const = 0;

 private:
  friend struct TokenizerReader;
  std::vector<uint8_t> kinds_;     // of the file: 3 control, 4 defined by the user, 6 a byte
  std::vector<int32_t> specials_;  // longest name first
};

class ByteLevel final : public PieceTokenizer {
 public:
  ByteLevel(WordSplitter splitter, bool keeps_words, NameIndex ids, NameIndex ranks)
      : splitter_(std::move(splitter)),
        keeps_words_(keeps_words),
        ids_(std::move(ids)),
        ranks_(std::move(ranks)) {}

 protected:
  void EncodePiece(std::string_view text, bool, std::vector<int32_t>& to) const override {
    for (std::string_view word : splitter_.Split(text)) EncodeWord(word, to);
  }

  std::string DecodeName(std::string_view name) const override {
    const ByteNames& table = ByteNames::Get();
    std::string bytes;
    const std::vector<CodePoint> points = CodePointsOf(name);
    for (const CodePoint& point : points) {
      const auto found = table.bytes.find(point.value);
      if (found == table.bytes.end()) {
        AppendUtf8(point.value, bytes);
      } else {
        bytes += static_cast<char>(found->second);
      }
    }
    return bytes;
  }

 private:
  void EncodeWord(std::string_view word, std::vector<int32_t>& to) const {
    std::string mapped;
    std::vector<size_t> ends;
    for (char byte : word) {
      mapped += ByteNames::Get().names[static_cast<uint8_t>(byte)];
      ends.push_back(mapped.size());
    }
    const int32_t whole = keeps_words_ ? ids_.Find(mapped) : -1;
    if (whole >= 0) return to.push_back(whole);
    std::vector<std::string_view> symbols;
    size_t begin = 0;
    for (size_t end : ends) {
      symbols.push_back(std::string_view(mapped).substr(begin, end - begin));
      begin = end;
    }
    std::string pair;
    const auto join = [&](std::string_view left, std::string_view right) -> std::optional<Joined> {
      pair.assign(left).append(" ").append(right);
      const int32_t rank = ranks_.Find(pair);
      if (rank < 0) return std::nullopt;
      return Joined{-static_cast<double>(rank), Together(left, right)};
    };
    for (std::string_view symbol : MergeSymbols(std::move(symbols), join)) {
      if (const int32_t found = ids_.Find(symbol); found >= 0) {
        to.push_back(found);
        continue;
      }
      // A merge of no token: its bytes, those that are tokens.
      for (const CodePoint& point : CodePointsOf(symbol)) {
        std::string one;
        AppendUtf8(point.value, one);
        if (const int32_t byte = ids_.Find(one); byte >= 0) to.push_back(byte);
      }
    }
  }

  WordSplitter splitter_;
  bool keeps_words_;
  NameIndex ids_, ranks_;
};

constexpr std::string_view kSpaceName = "\xe2\x96\x81";  // U+2581

class SentencePiece final : public PieceTokenizer {
 public:
  SentencePiece(NameIndex ids, std::vector<double> scores, bool adds_space, int32_t unknown)
      : ids_(std::move(ids)), scores_(std::move(scores)), adds_space_(adds_space) {
    for (int byte = 0; byte < 256; ++byte) {
      const int32_t found = ids_.Find(fmt::format("<0x{:02X}>", byte));
      bytes_[byte] = found < 0 ? unknown : found;
    }
  }

 protected:
  void EncodePiece(std::string_view text, bool first, std::vector<int32_t>& to) const override {
    std::string escaped;
    if (adds_space_ && first) escaped += kSpaceName;
    for (char byte : text) {
      if (byte == ' ') {
        escaped += kSpaceName;
      } else {
        escaped += byte;
      }
    }
    std::vector<std::string_view> symbols;
    const std::vector<CodePoint> points = CodePointsOf(escaped);
    for (size_t i = 0; i < points.size(); ++i) {
      const size_t end = i + 1 < points.size() ? points[i + 1].begin : escaped.size();
      symbols.push_back(std::string_view(escaped).substr(points[i].begin, end - points[i].begin));
    }
    const auto join = [&](std::string_view left, std::string_view right) -> std::optional<Joined> {
      const int32_t found = ids_.Find(Together(left, right));
      if (found < 0) return std::nullopt;
      return Joined{scores_[found], Together(left, right)};
    };
    for (std::string_view symbol : MergeSymbols(std::move(symbols), join)) {
      if (const int32_t found = ids_.Find(symbol); found >= 0) {
        to.push_back(found);
        continue;
      }
      for (char byte : symbol) {
        const int32_t token = bytes_[static_cast<uint8_t>(byte)];
        if (token >= 0) to.push_back(token);
      }
    }
  }

  std::string DecodeName(std::string_view name) const override {
    if (name.size() == 6 && name.starts_with("<0x") && name.ends_with(">")) {
      unsigned byte = 0;
      if (std::sscanf(name.data(), "<0x%2X>", &byte) == 1) return {static_cast<char>(byte)};
    }
    std::string text(name);
    for (size_t at = 0; (at = text.find(kSpaceName, at)) != std::string::npos; ++at)
      text.replace(at, kSpaceName.size(), " ");
    return text;
  }

 private:
  NameIndex ids_;
  std::vector<double> scores_;
  bool adds_space_;
  std::array<int32_t, 256> bytes_{};
};

std::vector<int32_t> PieceTokenizer::Encode(std::string_view text, bool special) const {
  std::vector<int32_t> to;
  size_t begin = 0;
  const auto piece = [&](size_t end) {
    if (end > begin) EncodePiece(text.substr(begin, end - begin), begin == 0, to);
  };
  for (size_t at = 0; at < text.size();) {
    const auto names_it = [&](int32_t token) {
      return (special || kinds_[token] == kUser) && text.substr(at).starts_with(tokens_[token]);
    };
    const auto found = std::ranges::find_if(specials_, names_it);
    if (found == specials_.end()) {
      ++at;
      continue;
    }
    piece(at);
    to.push_back(*found);
    begin = at += tokens_[*found].size();
  }
  piece(text.size());
  return to;
}

std::string PieceTokenizer::Decode(int32_t token) const {
  if (token < 0 || token >= size() || kinds_[token] == kControl) return {};
  return kinds_[token] == kUser ? tokens_[token] : DecodeName(tokens_[token]);
}

struct TokenizerReader {
  const gguf::File& file;
  std::unique_ptr<PieceTokenizer> tokenizer;
  NameIndex ids;
  bool adds_begin = true;  // where the file does not say

  static constexpr std::string_view kPrefix = "tokenizer.ggml.";
  static std::string Key(std::string_view name) { return std::string(kPrefix).append(name); }

  Result<int64_t> Token(std::string_view name, int64_t size) const {
    return file.Int(Key(name), -1, -1, size - 1);
  }
  Result<bool> Flag(std::string_view name, bool fallback) const {
    const gguf::Value* value = file.Find(Key(name));
    if (value == nullptr) return fallback;
    const auto* flag = std::get_if<bool>(value);
    if (flag == nullptr) return InvalidModel("value '{}': expected true or false", Key(name));
    return *flag;
  }

  Status MakeByteLevel() {
    ASSIGN_OR_RETURN(const std::string name, file.Text(Key("pre"), "default"));
    const std::optional<WordForm> form = FindWordForm(name);
    if (!form)
      return Unsupported("value '{}': rule '{}' is not supported; supported: {}", Key("pre"), name,
                         WordFormNames());
    adds_begin = form->begins;
    const auto* merges = file.Texts(Key("merges"));
    if (merges == nullptr) return InvalidModel("value '{}' is missing", Key("merges"));
    ASSIGN_OR_RETURN(WordSplitter splitter, WordSplitter::Create(*form));
    tokenizer = std::make_unique<ByteLevel>(std::move(splitter), form->keeps_words, std::move(ids),
                                            NameIndex(*merges));
    return OkStatus();
  }

  Status MakeSentencePiece(size_t size) {
    const auto* scores = file.Numbers(Key("scores"));
    if (scores == nullptr || scores->size() != size)
      return InvalidModel("value '{}': expected {} scores", Key("scores"), size);
    ASSIGN_OR_RETURN(const bool adds_space, Flag("add_space_prefix", true));
    ASSIGN_OR_RETURN(const int64_t unknown, Token("unknown_token_id", static_cast<int64_t>(size)));
    tokenizer = std::make_unique<SentencePiece>(std::move(ids), *scores, adds_space,
                                                static_cast<int32_t>(unknown));
    return OkStatus();
  }

  Status ReadEnds(int64_t size) {
    for (const char* key : {"eos_token_id", "eot_token_id"}) {
      ASSIGN_OR_RETURN(const int64_t end, Token(key, size));
      if (end >= 0) tokenizer->ends_.push_back(static_cast<int32_t>(end));
    }
    for (const char* name : {"<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>",
                             "<end_of_turn>", "<|end|>", "[|endofturn|]"}) {
      const int32_t end = tokenizer->Find(name);
      if (end >= 0) tokenizer->ends_.push_back(end);
    }
    return OkStatus();
  }

  Status ReadKinds(int64_t size) {
    const auto* kinds = file.Numbers(Key("token_type"));
    if (kinds != nullptr && std::ssize(*kinds) != size)
      return InvalidModel("value '{}': expected {} kinds", Key("token_type"), size);
    for (int64_t i = 0; i < size; ++i) {
      const double kind = kinds == nullptr ? 1 : (*kinds)[i];
      tokenizer->kinds_.push_back(kind >= 1 && kind <= 6 ? static_cast<uint8_t>(kind) : 1);
      const uint8_t known = tokenizer->kinds_.back();
      if ((known == kControl || known == kUser) && !tokenizer->tokens_[i].empty())
        tokenizer->specials_.push_back(static_cast<int32_t>(i));
    }
    std::ranges::stable_sort(tokenizer->specials_, [&](int32_t a, int32_t b) {
      return tokenizer->tokens_[a].size() > tokenizer->tokens_[b].size();
    });
    return OkStatus();
  }

  Status Run() {
    ASSIGN_OR_RETURN(const std::string model, file.Text(Key("model"), {}));
    const auto* tokens = file.Texts(Key("tokens"));
    if (tokens == nullptr || tokens->empty() || tokens->size() > (size_t{1} << 30))
      return InvalidModel("value '{}' is missing", Key("tokens"));
    const auto size = std::ssize(*tokens);
    ids = NameIndex(*tokens);
    if (model == "gpt2") {
      RETURN_IF_ERROR(MakeByteLevel());
    } else if (model == "llama") {
      RETURN_IF_ERROR(MakeSentencePiece(tokens->size()));
    } else {
      return Unsupported("value '{}': expected gpt2 or llama, got '{}'", Key("model"), model);
    }
    tokenizer->tokens_ = *tokens;
    RETURN_IF_ERROR(ReadKinds(size));
    RETURN_IF_ERROR(ReadEnds(size));
    ASSIGN_OR_RETURN(const int64_t begin, Token("bos_token_id", size));
    tokenizer->begin_ = static_cast<int32_t>(begin);
    ASSIGN_OR_RETURN(tokenizer->adds_begin_, Flag("add_bos_token", adds_begin));
    return OkStatus();
  }
};

}  // namespace

Result<std::unique_ptr<const Tokenizer>> Tokenizer::Create(const gguf::File& file) {
  TokenizerReader reader{.file = file, .tokenizer = nullptr, .ids = {}};
  const Status status = reader.Run();
  if (!status.ok()) return status.WithContext(file.name());
  return std::unique_ptr<const Tokenizer>(std::move(reader.tokenizer));
}

bool Tokenizer::IsEnd(int32_t token) const {
  return std::ranges::find(ends_, token) != ends_.end();
}

int32_t Tokenizer::Find(std::string_view name) const {
  const auto found = std::ranges::find(tokens_, name);
  return found == tokens_.end() ? -1 : static_cast<int32_t>(found - tokens_.begin());
}

}  // namespace fettle::language
