// A language model of any form, before any sequence exists.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "language/generator.h"
#include "language/tokenizer.h"

namespace fettle::language {

/// A GGUF file, or a folder with an ONNX file and its tokenizer.json (model_folder.h), or such an
/// ONNX file. Immutable, thread-safe.
class LanguageModel {
 public:
  /// By what `path` is. Fails as gguf::File::Open and ReadModelFolder do.
  static Result<std::shared_ptr<const LanguageModel>> Open(const std::string& path);
  virtual ~LanguageModel() = default;

  /// Fails as Tokenizer::Create and ReadTokenizer do.
  virtual Result<std::shared_ptr<const Tokenizer>> ReadTokenizer() const = 0;
  /// The chat template of the files; "" where they have none.
  virtual Result<std::string> ChatTemplate() const = 0;
  /// A sequence without tokens. Fails as SequenceDecoder::Create and OpenOnnxDecoder do;
  /// kInvalidModel where `tokenizer` (may be null) has more tokens than the model.
  Result<std::unique_ptr<SequenceDecoder>> NewSequence(const DecoderOptions& options,
                                                       const Tokenizer* tokenizer) const;
  /// Of the weights' files.
  virtual int64_t weight_bytes() const = 0;

 protected:
  virtual Result<std::unique_ptr<SequenceDecoder>> NewDecoder(
      const DecoderOptions& options) const = 0;
};

}  // namespace fettle::language
