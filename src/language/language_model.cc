#include "language/language_model.h"

#include <filesystem>

#include "language/model_folder.h"
#include "language/onnx/onnx_decoder.h"

namespace fettle::language {
namespace {

class GgufModel final : public LanguageModel {
 public:
  explicit GgufModel(std::shared_ptr<const gguf::File> file) : file_(std::move(file)) {}

  Result<std::shared_ptr<const Tokenizer>> ReadTokenizer() const override {
    ASSIGN_OR_RETURN(auto made, Tokenizer::Create(*file_));
    return std::shared_ptr<const Tokenizer>(std::move(made));
  }
  Result<std::string> ChatTemplate() const override {
    return file_->Text("tokenizer.chat_template", "");
  }
  int64_t weight_bytes() const override {
    int64_t bytes = 0;
    for (const gguf::TensorInfo& tensor : file_->tensors()) bytes += std::ssize(tensor.bytes);
    return bytes;
  }

 protected:
  Result<std::unique_ptr<SequenceDecoder>> NewDecoder(
      const DecoderOptions& options) const override {
    return SequenceDecoder::Create(file_, options);
  }

 private:
  std::shared_ptr<const gguf::File> file_;
};

class FolderModel final : public LanguageModel {
 public:
  explicit FolderModel(ModelFolder folder) : folder_(std::move(folder)) {}

  Result<std::shared_ptr<const Tokenizer>> ReadTokenizer() const override {
    ASSIGN_OR_RETURN(const Json json, ReadJsonFile(folder_.tokenizer));
    ASSIGN_OR_RETURN(auto made, language::ReadTokenizer(json, folder_.tokenizer, folder_.roles));
    return std::shared_ptr<const Tokenizer>(std::move(made));
  }
  Result<std::string> ChatTemplate() const override { return folder_.chat_template; }
  /// External data lies beside the model, under its name with an ending more.
  int64_t weight_bytes() const override {
    int64_t bytes = 0;
    for (const char* more : {"", ".data", "_data"}) {
      std::error_code none;
      const auto size = std::filesystem::file_size(folder_.model + more, none);
      if (!none) bytes += static_cast<int64_t>(size);
    }
    return bytes;
  }

 protected:
  Result<std::unique_ptr<SequenceDecoder>> NewDecoder(
      const DecoderOptions& options) const override {
    return OpenOnnxDecoder(folder_.model, folder_.facts, options);
  }

 private:
  ModelFolder folder_;
};

}  // namespace

Result<std::shared_ptr<const LanguageModel>> LanguageModel::Open(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none) || path.ends_with(".onnx")) {
    ASSIGN_OR_RETURN(ModelFolder folder, ReadModelFolder(path));
    return std::make_shared<const FolderModel>(std::move(folder));
  }
  ASSIGN_OR_RETURN(auto file, gguf::File::Open(path));
  return std::make_shared<const GgufModel>(std::move(file));
}

Result<std::unique_ptr<SequenceDecoder>> LanguageModel::NewSequence(
    const DecoderOptions& options, const Tokenizer* tokenizer) const {
  ASSIGN_OR_RETURN(auto made, NewDecoder(options));
  if (tokenizer != nullptr && tokenizer->size() > made->vocabulary())
    return InvalidModel("the tokenizer has {} tokens, and the model {}", tokenizer->size(),
                        made->vocabulary());
  return made;
}

}  // namespace fettle::language
