#include "language/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/file.h"

namespace fettle::language {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModelFolder = "onnx";

bool IsFile(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

/// Nothing where there is no such file.
Result<std::optional<Json>> ReadIfThere(const fs::path& path) {
  if (!IsFile(path)) return std::optional<Json>();
  ASSIGN_OR_RETURN(Json json, ReadJsonFile(path.string()));
  return std::optional<Json>(std::move(json));
}

class FolderReader {
 public:
  explicit FolderReader(fs::path folder) : folder_(std::move(folder)) {}

  Result<ModelFolder> Run(const std::string& model) {
    ASSIGN_OR_RETURN(genai_, ReadIfThere(folder_ / "genai_config.json"));
    ASSIGN_OR_RETURN(config_, ReadIfThere(folder_ / "config.json"));
    ASSIGN_OR_RETURN(generation_, ReadIfThere(folder_ / "generation_config.json"));
    ASSIGN_OR_RETURN(tokens_, ReadIfThere(folder_ / "tokenizer_config.json"));
    made_.model = model;
    if (genai_) RETURN_IF_ERROR(ReadGenai().WithContext((folder_ / "genai_config.json").string()));
    if (config_) RETURN_IF_ERROR(ReadConfig().WithContext((folder_ / "config.json").string()));
    if (generation_) TakeEnds(*generation_);
    if (made_.model.empty()) RETURN_IF_ERROR(FindModel());
    RETURN_IF_ERROR(ReadTemplate());
    made_.tokenizer = (folder_ / "tokenizer.json").string();
    if (!IsFile(made_.tokenizer))
      return Error(StatusCode::kNotFound, "{}: there is no tokenizer.json", folder_.string());
    return made_;
  }

 private:
  /// A number, or a list of numbers.
  void TakeEnds(const Json& json) {
    const Json* ends = Find(json, "eos_token_id");
    if (ends == nullptr) return;
    const auto add = [&](const Json& end) {
      if (end.is_number_integer() && end.get<int64_t>() >= 0 &&
          end.get<int64_t>() < kMostTokenNumber)
        made_.roles.ends.push_back(end.get<int32_t>());
    };
    if (ends->is_array()) {
      for (const Json& end : *ends) add(end);
    } else {
      add(*ends);
    }
  }

  void TakeBegin(const Json& json) {
    const Json* begin = Find(json, "bos_token_id");
    if (made_.roles.begin < 0 && begin != nullptr && begin->is_number_integer() &&
        begin->get<int64_t>() >= 0 && begin->get<int64_t>() < kMostTokenNumber)
      made_.roles.begin = begin->get<int32_t>();
  }

  /// Of the first file that has it.
  static Status TakeFact(const Json& json, std::string_view key, int64_t& to) {
    ASSIGN_OR_RETURN(const int64_t fact, IntOf(json, key, 0));
    if (fact < 0 || fact > kMostPositions)
      return InvalidModel("'{}': expected 1 to {}, got {}", key, kMostPositions, fact);
    if (to == 0) to = fact;
    return OkStatus();
  }

  Status TakeSizes(const Json& config) {
    OnnxFacts& facts = made_.facts;
    for (const char* key : {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"})
      RETURN_IF_ERROR(TakeFact(config, key, facts.trained_context));
    int64_t heads = 0, width = 0;
    for (const char* key : {"num_attention_heads", "n_head", "num_heads"})
      RETURN_IF_ERROR(TakeFact(config, key, heads));
    for (const char* key : {"hidden_size", "n_embd", "d_model"})
      RETURN_IF_ERROR(TakeFact(config, key, width));
    RETURN_IF_ERROR(TakeFact(config, "num_key_value_heads", facts.key_heads));
    RETURN_IF_ERROR(TakeFact(config, "head_dim", facts.head_size));
    if (facts.key_heads == 0) facts.key_heads = heads;
    if (facts.head_size == 0 && heads > 0) facts.head_size = width / heads;
    return OkStatus();
  }

  Status ReadGenai() {
    ASSIGN_OR_RETURN(const Json* model, Need(*genai_, "model"));
    for (const char* other : {"encoder", "vision", "speech", "embedding"}) {
      if (Find(*model, other) != nullptr)
        return Unsupported("the model has a part '{}'; models of texts alone are supported", other);
    }
    TakeEnds(*model);
    TakeBegin(*model);
    RETURN_IF_ERROR(TakeFact(*model, "context_length", made_.facts.trained_context));
    ASSIGN_OR_RETURN(const Json* decoder, Need(*model, "decoder"));
    RETURN_IF_ERROR(TakeFact(*decoder, "num_key_value_heads", made_.facts.key_heads));
    RETURN_IF_ERROR(TakeFact(*decoder, "head_size", made_.facts.head_size));
    if (Find(*decoder, "pipeline") != nullptr)
      return Unsupported("'pipeline': models in several files are not supported");
    ASSIGN_OR_RETURN(const std::string name, TextOf(*decoder, "filename", "model.onnx"));
    if (name.find('/') != std::string::npos || name.find('\\') != std::string::npos)
      return InvalidModel("'filename': '{}' is not a file of the folder", name);
    if (made_.model.empty()) made_.model = (folder_ / name).string();
    if (!IsFile(made_.model))
      return Error(StatusCode::kNotFound, "the model '{}' is missing", name);
    return OkStatus();
  }

  Status ReadConfig() {
    ASSIGN_OR_RETURN(const bool has_encoder, FlagOf(*config_, "is_encoder_decoder", false));
    if (has_encoder) return Unsupported("the model has an encoder; decoders alone are supported");
    const Json* text = Find(*config_, "text_config");
    for (const Json* config : std::initializer_list<const Json*>{&*config_, text}) {
      if (config == nullptr) continue;
      TakeEnds(*config);
      TakeBegin(*config);
      RETURN_IF_ERROR(TakeSizes(*config));
    }
    return OkStatus();
  }

  Status FindModel() {
    std::vector<std::string> models;
    for (const fs::path& place : {folder_, folder_ / kModelFolder}) {
      std::error_code none;
      for (const fs::directory_entry& entry : fs::directory_iterator(place, none))
        if (entry.path().extension() == ".onnx" && IsFile(entry.path()))
          models.push_back(entry.path().string());
    }
    std::ranges::sort(models);
    for (const char* name : {"model.onnx", "decoder_model_merged.onnx"}) {
      for (const fs::path& place : {folder_, folder_ / kModelFolder}) {
        const std::string usual = (place / name).string();
        if (std::ranges::find(models, usual) == models.end()) continue;
        made_.model = usual;
        return OkStatus();
      }
    }
    if (models.empty())
      return Error(StatusCode::kNotFound, "{}: there is no .onnx file, neither in its folder {}",
                   folder_.string(), kModelFolder);
    std::string names;
    for (const std::string& name : models) names.append(names.empty() ? "" : ", ").append(name);
    if (models.size() > 1)
      return InvalidArgument("{}: several models; name one of them: {}", folder_.string(), names);
    made_.model = models[0];
    return OkStatus();
  }

  /// chat_template.jinja, or what tokenizer_config.json has: a text, or a list of named ones.
  Status ReadTemplate() {
    const fs::path own = folder_ / "chat_template.jinja";
    if (IsFile(own)) {
      ASSIGN_OR_RETURN(const auto file, MappedFile::Open(own.string()));
      const std::span<const std::byte> bytes = file->bytes();
      made_.chat_template.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return OkStatus();
    }
    const Json* form = tokens_ ? Find(*tokens_, "chat_template") : nullptr;
    if (form == nullptr) return OkStatus();
    if (form->is_string()) made_.chat_template = form->get<std::string>();
    for (size_t i = 0; form->is_array() && i < form->size(); ++i) {
      const Json *name = Find((*form)[i], "name"), *text = Find((*form)[i], "template");
      if (name != nullptr && *name == "default" && text != nullptr && text->is_string())
        made_.chat_template = text->get<std::string>();
    }
    return OkStatus();
  }

  static constexpr int64_t kMostTokenNumber = int64_t{1} << 30;
  static constexpr int64_t kMostPositions = int64_t{1} << 40;
  fs::path folder_;
  std::optional<Json> genai_, config_, generation_, tokens_;
  ModelFolder made_;
};

}  // namespace

Result<ModelFolder> ReadModelFolder(const std::string& path) {
  std::error_code none;
  const auto in_one_line = [](Result<ModelFolder> made) -> Result<ModelFolder> {
    if (!made.ok()) return InOneLine(made.status());
    return made;
  };
  if (fs::is_directory(path, none)) return in_one_line(FolderReader(path).Run(""));
  if (!IsFile(path)) return Error(StatusCode::kNotFound, "{}: no such file or folder", path);
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!IsFile(folder / "tokenizer.json") && folder.filename() == kModelFolder &&
      IsFile(folder.parent_path() / "tokenizer.json"))
    folder = folder.parent_path();
  return in_one_line(FolderReader(folder).Run(path));
}

}  // namespace fettle::language
