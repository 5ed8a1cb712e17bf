// Folders of language models: an ONNX file, its tokenizer, and facts from other files.
#pragma once

#include <string>

#include "language/onnx/onnx_form.h"
#include "language/tokens/json_tokenizer.h"

namespace fettle::language {

/// What a folder holds, as onnxruntime-genai's builder (genai_config.json) and the repositories of
/// transformers.js (config.json, onnx/) have it.
struct ModelFolder {
  std::string model;      // path of the ONNX file
  std::string tokenizer;  // path of tokenizer.json
  std::string chat_template;
  OnnxFacts facts;
  TokenRoles roles;
};

/// `path`: a folder, or the ONNX file to take of one. In a folder the model is the one that
/// genai_config.json names, model.onnx, onnx/model.onnx, decoder_model_merged.onnx beside them, or
/// the only one. kNotFound where there is none or no tokenizer.json, kInvalidArgument listing them
/// where there are several, kUnsupported for models of more than texts, kInvalidModel.
Result<ModelFolder> ReadModelFolder(const std::string& path);

}  // namespace fettle::language
