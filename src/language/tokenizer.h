// Converts texts to tokens and back, as a model's file defines it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_file.h"

namespace fettle::language {

/// Of a GGUF file, or of a tokenizer.json (tokens/json_tokenizer.h). Immutable, thread-safe.
class Tokenizer {
 public:
  /// Byte-level BPE with merges ("gpt2") or SentencePiece with scores ("llama"). Fails with
  /// kUnsupported for other kinds and unknown rules of words, naming those it knows, kInvalidModel
  /// where tokens are missing or do not fit.
  static Result<std::unique_ptr<const Tokenizer>> Create(const gguf::File& file);
  virtual ~Tokenizer() = default;

  /// Tokens of any bytes. `special`: names of control tokens in the text are those tokens.
  virtual std::vector<int32_t> Encode(std::string_view text, bool special) const = 0;
  /// The bytes that a token adds to a text; none of control tokens, and of numbers that are no
  /// token.
  virtual std::string Decode(int32_t token) const = 0;

  int64_t size() const { return std::ssize(tokens_); }
  /// The token that begins a text, -1: none; and whether Encode's caller puts it first.
  int32_t begin() const { return begin_; }
  bool adds_begin() const { return adds_begin_; }
  /// Whether an answer ends with it.
  bool IsEnd(int32_t token) const;
  /// The name that a token has in the file.
  std::string_view name(int32_t token) const { return tokens_[token]; }
  int32_t Find(std::string_view name) const;

 protected:
  Tokenizer() = default;
  std::vector<std::string> tokens_;
  std::vector<int32_t> ends_;
  int32_t begin_ = -1;
  bool adds_begin_ = false;
};

}  // namespace fettle::language
