#include "importers/onnx/importer.h"

#include <filesystem>

#include "base/file.h"
#include "importers/onnx/builder.h"
#include "importers/onnx/scales.h"

namespace fettle::onnx {
namespace {

constexpr int64_t kOldestIr = 3, kNewestIr = 14;
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Status CheckVersions(const ModelRecord& model, const std::string& file_name,
                     std::vector<std::string>* warnings) {
  const auto warn = [&](std::string text) {
    if (warnings != nullptr) warnings->push_back(file_name + ": " + std::move(text));
  };
  if (model.ir_version < 1) return InvalidModel("IR version {}", model.ir_version);
  if (model.ir_version < kOldestIr || model.ir_version > kNewestIr) {
    warn(fmt::format("IR version {} is outside {} to {}, trying anyway", model.ir_version,
                     kOldestIr, kNewestIr));
  }
  bool has_opset = false;
  for (const OpsetImport& import : model.opsets) {
    if (!import.domain.empty()) continue;
    has_opset = true;
    if (import.version > kNewestOpset) {
      return Unsupported("opset {} of ai.onnx: {} is the newest supported", import.version,
                         kNewestOpset);
    }
    if (import.version < kOldestOpset) {
      warn(fmt::format("opset {} of ai.onnx is older than {}, trying anyway", import.version,
                       kOldestOpset));
    }
  }
  if (!has_opset) warn("no opset of ai.onnx is imported, assuming 1");
  return OkStatus();
}

Result<ir::Graph> Import(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         const std::string& file_name, const std::string& external_dir,
                         std::vector<std::string>* warnings, const ImportOptions& options) {
  ASSIGN_OR_RETURN(const ModelRecord model, ReadModel(AsText(bytes)));
  RETURN_IF_ERROR(CheckVersions(model, file_name, warnings));
  ExternalFiles external(external_dir);
  GraphBuilder builder(model, bytes.size(), std::move(owner), &external, options);
  Result<ir::Graph> graph = builder.Build();
  if (graph.ok() && warnings != nullptr) {
    for (const auto& lines : {builder.LeftOut(), UnusualScales(*graph)}) {
      for (const std::string& line : lines)
        warnings->push_back(fmt::format("{}: {}", file_name, line));
    }
  }
  return graph;
}

Status CheckNotGguf(std::span<const std::byte> bytes, const std::string& file_name) {
  if (!AsText(bytes).starts_with("GGUF")) return OkStatus();
  return InvalidModel("{}: a language model in a GGUF file, not an ONNX model", file_name);
}

}  // namespace

Result<ir::Graph> ImportBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& file_name, const std::string& external_dir,
                              std::vector<std::string>* warnings, const ImportOptions& options) {
  RETURN_IF_ERROR(CheckNotGguf(bytes, file_name));
  Result<ir::Graph> graph =
      Import(bytes, std::move(owner), file_name, external_dir, warnings, options);
  if (!graph.ok()) return graph.status().WithContext(file_name);
  return graph;
}

Result<ir::Graph> ImportFile(const std::string& path, std::vector<std::string>* warnings,
                             const ImportOptions& options) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return ImportBytes(file->bytes(), file, FileName(path), folder.empty() ? "." : folder.string(),
                     warnings, options);
}

Result<ModelSummary> Summarise(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  RETURN_IF_ERROR(CheckNotGguf(file->bytes(), FileName(path)));
  const Result<ModelRecord> model = ReadModelHeader(AsText(file->bytes()));
  if (!model.ok()) return model.status().WithContext(FileName(path));
  ModelSummary summary{.ir_version = model->ir_version,
                       .model_version = model->model_version,
                       .producer = Printable(model->producer),
                       .producer_version = Printable(model->producer_version),
                       .domain = Printable(model->domain)};
  for (const OpsetImport& import : model->opsets) {
    const std::string_view domain = import.domain.empty() ? "ai.onnx" : import.domain;
    summary.opsets.emplace_back(domain, import.version);
  }
  for (const auto& [key, value] : model->metadata)
    summary.metadata.emplace_back(Printable(key), Printable(value));
  return summary;
}

}  // namespace fettle::onnx
